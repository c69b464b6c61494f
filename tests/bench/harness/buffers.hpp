// SPDX-License-Identifier: BSD-3-Clause
// The memory of a bulk figure: buffers of one size, which both sides of a comparison use in turn, so that neither works
// from a warmer cache than the other. Page-aligned, on ordinary or huge pages. The constructor touches each page, so
// that a process has its own pages for the buffers that it makes.
#pragma once

#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace cinnabar::bench {

enum class Pages : bool { small, huge };

class Buffers {
  public:
    // Requires for huge pages: the total size is a multiple of 2 MiB.
    Buffers(std::size_t count, std::size_t bytes_each, Pages pages = Pages::small)
        : count_(count),
          bytes_each_(bytes_each),
          memory_(static_cast<std::byte*>(
              std::aligned_alloc(pages == Pages::huge ? huge_page_bytes : page_bytes, count * bytes_each))) {
        madvise(memory_.get(), count * bytes_each, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        memset(memory_.get(), 0x5a, count * bytes_each);
    }

    [[nodiscard]] std::byte* next() noexcept { return at(next_++ % count_); }
    [[nodiscard]] std::byte* at(std::size_t index) noexcept { return memory_.get() + index * bytes_each_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t bytes_each() const noexcept { return bytes_each_; }
    [[nodiscard]] std::span<std::byte> all() noexcept { return {memory_.get(), count_ * bytes_each_}; }

  private:
    struct Free {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t huge_page_bytes = 2 * 1024 * 1024;

    std::size_t count_;
    std::size_t bytes_each_;
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t next_ = 0;
};

}  // namespace cinnabar::bench
