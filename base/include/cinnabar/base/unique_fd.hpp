// SPDX-License-Identifier: BSD-3-Clause
// Owns one file descriptor and closes it.
#pragma once

#include <cinnabar/base/export.hpp>

#include <utility>

namespace cinnabar {

class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    CINNABAR_API void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

}  // namespace cinnabar
