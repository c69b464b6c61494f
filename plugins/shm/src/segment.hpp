// SPDX-License-Identifier: BSD-3-Clause
// Memory shared between processes: an anonymous file, passed as a descriptor and sealed so that nobody can shrink it.
// The file has no name, so it is gone when the last process has unmapped it.
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

    // Creates a segment of whole pages, all zeros; `fd` gets the descriptor to pass on. unsupported, out_of_memory,
    // overloaded: the process is out of descriptors.
    [[nodiscard]] static Errc make(const char* name, std::size_t bytes, Segment& out, UniqueFd& fd) noexcept;
    // Maps a descriptor that a peer passed. protocol: not a sealed segment of that size; out_of_memory.
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
