// SPDX-License-Identifier: BSD-3-Clause
// Owns a descriptor that came from a peer. Another user could make close() block, so LateCloses closes what came from
// another user, in a thread of its own. What came from this user, whom this process must trust anyway, is closed at
// once.
#pragma once

#include "late_closes.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace cinnabar::shm {

// The descriptor may have come from any user.
inline constexpr uid_t anybody = static_cast<uid_t>(-1);

class PeerFd {
  public:
    PeerFd() = default;
    // A descriptor passed by a process of that user.
    [[nodiscard]] static PeerFd passed(UniqueFd fd, uid_t user) noexcept { return {std::move(fd), user, false}; }
    // A socket to a process of that user, which may have sent descriptors that are unread. Closing shuts the connection
    // down at once.
    [[nodiscard]] static PeerFd socket(UniqueFd fd, uid_t user) noexcept { return {std::move(fd), user, true}; }
    PeerFd(PeerFd&& other) noexcept = default;
    PeerFd& operator=(PeerFd&& other) noexcept {
        if (this == &other) return *this;
        reset();
        fd_ = std::move(other.fd_);
        user_ = other.user_;
        socket_ = other.socket_;
        return *this;
    }
    ~PeerFd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    void reset() noexcept {
        if (!fd_ || user_ == ::geteuid()) return fd_.reset();
        if (socket_) (void)::shutdown(fd_.get(), SHUT_RDWR);
        LateCloses::of_process().add(std::move(fd_), user_);
    }

  private:
    PeerFd(UniqueFd fd, uid_t user, bool socket) noexcept : fd_(std::move(fd)), user_(user), socket_(socket) {}

    UniqueFd fd_;
    uid_t user_ = 0;
    bool socket_ = false;
};

}  // namespace cinnabar::shm
