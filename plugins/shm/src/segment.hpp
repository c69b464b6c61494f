// SPDX-License-Identifier: BSD-3-Clause
// A piece of memory that processes share: an anonymous file, sealed so that nobody can shrink it under a mapping, which
// is handed over as a descriptor. It has no name: nothing is left of it when the last process that mapped it is gone.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <cstddef>

namespace cinnabar::shm {

class Segment {
  public:
    Segment() = default;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment() { reset(); }

    // Makes one, all zeros, of whole pages, and gives the descriptor to hand over. unsupported, out_of_memory,
    // overloaded (no descriptor is left).
    [[nodiscard]] static Errc make(const char* name, std::size_t bytes, Segment& out, UniqueFd& fd) noexcept;
    // Maps what a peer handed over. protocol: no sealed segment of that size; out_of_memory.
    [[nodiscard]] static Errc attach(int fd, std::size_t bytes, Segment& out) noexcept;

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    explicit operator bool() const noexcept { return base_ != nullptr; }
    void reset() noexcept;

  private:
    [[nodiscard]] bool map(int fd, std::size_t bytes) noexcept;
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace cinnabar::shm
