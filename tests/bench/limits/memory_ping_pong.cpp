// SPDX-License-Identifier: BSD-3-Clause
// Ping-pong between processes without sockets: through rings in shared memory, and with eventfds.
#include "limits.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

namespace cinnabar::bench {
namespace {

// Slots of whole cache lines. Each begins with the number of its message, which is stored last.
class Ring {
  public:
    static constexpr std::size_t slots = 256;
    explicit Ring(std::size_t bytes) : stride_((sizeof(std::uint64_t) + bytes + 63) / 64 * 64) {
        void* memory = mmap(nullptr, slots * stride_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error{"mmap"};
        memory_ = static_cast<std::byte*>(memory);
    }
    ~Ring() { munmap(memory_, slots * stride_); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    void write(std::uint64_t number, const std::vector<std::byte>& message) noexcept {
        std::byte* slot = memory_ + number % slots * stride_;
        std::memcpy(slot + sizeof number, message.data(), message.size());
        word(slot).store(number, std::memory_order_release);
    }
    [[nodiscard]] bool read(std::uint64_t number, std::vector<std::byte>& message) noexcept {
        std::byte* slot = memory_ + number % slots * stride_;
        if (word(slot).load(std::memory_order_acquire) != number) return false;
        std::memcpy(message.data(), slot + sizeof number, message.size());
        return true;
    }

  private:
    static std::atomic<std::uint64_t>& word(std::byte* slot) noexcept {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot);
    }
    std::size_t stride_;
    std::byte* memory_ = nullptr;
};

class RingPingPong : public Subject {
  public:
    RingPingPong(Cores cores, FrameBytes frame)
        : there_(frame.request),
          back_(frame.reply),
          request_(frame.request),
          reply_(frame.reply),
          partner_(cores.server, [this, frame](PartnerSide& side) {
              std::vector<std::byte> request(frame.request);
              const std::vector<std::byte> reply(frame.reply);
              std::uint64_t number = 1;
              side.announce("ready");
              while (side.wait_slice()) {
                  while (side.running()) {
                      if (!there_.read(number, request)) continue;
                      back_.write(number++, reply);
                  }
                  side.end_slice();
              }
          }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            return repeat_for(duration, [&] {
                there_.write(number_, request_);
                while (!back_.read(number_, reply_)) {
                }
                ++number_;
            });
        });
    }

  private:
    Ring there_;
    Ring back_;
    std::vector<std::byte> request_;
    std::vector<std::byte> reply_;
    std::uint64_t number_ = 1;
    Partner partner_;
};

class EventfdPingPong : public Subject {
  public:
    explicit EventfdPingPong(Cores cores)
        : partner_(cores.server, [this](PartnerSide& side) {
              side.announce("ready");
              while (side.wait_slice()) {
                  bool more = true;
                  while (more) {
                      wait(there_);
                      more = side.running();
                      ring(back_);
                  }
                  side.end_slice();
              }
          }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(
            partner_, [&] { return repeat_for(duration, [&] { call(); }); },
            [&] {
                call();
                return 1;
            });
    }

  private:
    void call() {
        ring(there_);
        wait(back_);
    }
    static void ring(const UniqueFd& fd) {
        const std::uint64_t one = 1;
        if (write(fd.get(), &one, sizeof one) != sizeof one) throw std::runtime_error{"write to an eventfd"};
    }
    static void wait(const UniqueFd& fd) {
        std::uint64_t rings = 0;
        if (read(fd.get(), &rings, sizeof rings) != sizeof rings) throw std::runtime_error{"read of an eventfd"};
    }
    UniqueFd there_{eventfd(0, EFD_CLOEXEC)};
    UniqueFd back_{eventfd(0, EFD_CLOEXEC)};
    Partner partner_;
};

class Allowance : public Subject {
  public:
    Allowance(std::unique_ptr<Subject> of, double factor, double seconds_each)
        : of_(std::move(of)), factor_(factor), seconds_each_(seconds_each) {}
    Slice run_slice(std::chrono::milliseconds duration) override {
        auto slice = of_->run_slice(duration);
        slice.seconds = slice.seconds * factor_ + slice.work * seconds_each_;
        return slice;
    }

  private:
    std::unique_ptr<Subject> of_;
    double factor_;
    double seconds_each_;
};

}  // namespace

std::unique_ptr<Subject> make_ring_ping_pong(Cores cores, FrameBytes frame) {
    return std::make_unique<RingPingPong>(cores, frame);
}

std::unique_ptr<Subject> make_eventfd_ping_pong(Cores cores) { return std::make_unique<EventfdPingPong>(cores); }

std::unique_ptr<Subject> make_allowance(std::unique_ptr<Subject> of, double factor, double seconds_each) {
    return std::make_unique<Allowance>(std::move(of), factor, seconds_each);
}

}  // namespace cinnabar::bench
