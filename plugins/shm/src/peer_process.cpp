// SPDX-License-Identifier: BSD-3-Clause
#include "peer_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace cinnabar::shm {

// pidfd_open is called directly, because older C libraries have no wrapper.
bool PeerProcess::open(pid_t pid) noexcept {
    pid_ = pid;
    seen_at_ = 0;
#if defined(SYS_pidfd_open)
    fd_.reset(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
#endif
    return static_cast<bool>(fd_);
}

bool PeerProcess::has_ended() const noexcept {
    pollfd look{fd_.get(), POLLIN, 0};
    return fd_ && ::poll(&look, 1, 0) > 0;
}

bool PeerProcess::is_there(int socket) noexcept {
    const TimeUs now = steady_clock().now_us();
    if (now - seen_at_ < fresh_us) return true;
    std::array<pollfd, 2> looks{{{fd_.get(), POLLIN, 0}, {socket, POLLRDHUP, 0}}};
    int ended = 0;
    do {
        ended = ::poll(looks.data(), looks.size(), 0);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) seen_at_ = now;
    return ended == 0;
}

}  // namespace cinnabar::shm
