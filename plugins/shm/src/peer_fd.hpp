// SPDX-License-Identifier: BSD-3-Clause
// Owns a descriptor that came from a peer. If the peer is another user, who could make close() block, LateCloses closes
// the descriptor in a thread of its own. A descriptor of this user, whom this process must trust anyway, is closed at
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
    // A socket to a process of that user; it may contain unread descriptors. reset() shuts the connection down at once,
    // even if the descriptor is closed later.
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
