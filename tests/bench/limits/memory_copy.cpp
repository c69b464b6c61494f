// SPDX-License-Identifier: BSD-3-Clause
// Copies within a process and across two.
#include "limits.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr std::size_t blocks = 8;

class MemoryCopy : public Subject {
  public:
    MemoryCopy(std::size_t block_bytes, Pages pages)
        : from_(blocks, block_bytes, pages), to_(blocks, block_bytes, pages) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        const auto used = usage_now();
        const auto begin = seconds_now();
        Slice slice;
        slice.work = static_cast<double>(from_.bytes_each()) * repeat_for(duration, [&] {
                         auto* to = to_.next();
                         std::memcpy(to, from_.next(), from_.bytes_each());
                         asm volatile("" ::"r"(to) : "memory");  // as if somebody read it
                     });
        slice.seconds = seconds_now() - begin;
        slice.client = usage_now() - used;
        return slice;
    }

  private:
    Buffers from_;
    Buffers to_;
};

class CrossMemoryCopy : public Subject {
  public:
    CrossMemoryCopy(Cores cores, std::size_t block_bytes, Pages pages)
        : to_(blocks, block_bytes, pages),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, block_bytes, pages); }) {
        const auto& text = partner_.announced();
        std::from_chars(text.data(), text.data() + text.size(), from_);
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        const auto bytes = to_.bytes_each();
        return measure(partner_, [&] {
            std::size_t index = 0;
            return static_cast<double>(bytes) * repeat_for(duration, [&] {
                       const iovec local{to_.next(), bytes};
                       const iovec remote{reinterpret_cast<void*>(from_ + index++ % blocks * bytes), bytes};
                       if (process_vm_readv(partner_.pid(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes)) {
                           throw std::runtime_error{std::string{"process_vm_readv: "} + std::strerror(errno)};
                       }
                   });
        });
    }

  private:
    // Only the memory of this process is used. The server has nothing to do in a slice and reports its end at once.
    static void serve(PartnerSide& side, std::size_t block_bytes, Pages pages) {
        Buffers from{blocks, block_bytes, pages};
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        side.announce(std::to_string(reinterpret_cast<std::uintptr_t>(from.at(0))));
        while (side.wait_slice()) side.end_slice();
    }

    Buffers to_;
    Partner partner_;
    std::uintptr_t from_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_memory_copy(Cores, std::size_t block_bytes, Pages pages) {
    return std::make_unique<MemoryCopy>(block_bytes, pages);
}

std::unique_ptr<Subject> make_cross_memory_copy(Cores cores, std::size_t block_bytes, Pages pages) {
    return std::make_unique<CrossMemoryCopy>(cores, block_bytes, pages);
}

}  // namespace cinnabar::bench
