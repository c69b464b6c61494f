// SPDX-License-Identifier: BSD-3-Clause
// UNIX sockets of type SOCK_SEQPACKET. They transfer greetings with descriptors, and bells, and show when the peer's
// process ends. All are non-blocking and close-on-exec.
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/socket.h>

#include <optional>
#include <string>

namespace cinnabar::shm {

// The process at the other end, as the kernel reports it.
struct Credentials {
    pid_t pid = 0;  // 0: not visible from here (another pid namespace)
    uid_t uid = 0;
    gid_t gid = 0;
};

// Creates a listening socket at that path with exactly that mode. Empty, with errno: the socket cannot be created, or
// the path is taken by something else. Requires: the folder is locked.
[[nodiscard]] UniqueFd listen_at(const std::string& path, mode_t mode) noexcept;
// Connects to the socket at that path. refused: no process listens there; again: the listener's queue is full;
// permission; overloaded: this process is out of descriptors.
[[nodiscard]] Errc connect_to(const std::string& path, UniqueFd& out) noexcept;
[[nodiscard]] Credentials credentials_of(int fd) noexcept;
[[nodiscard]] bool is_own_user(const Credentials& peer) noexcept;
// Whether the process at the other end of the socket may be a peer: it must run as this user or as root, or as a member
// of `group`.
[[nodiscard]] bool may_be_peer(int fd, const Credentials& peer, std::optional<gid_t> group) noexcept;

// The descriptors sent with a greeting; borrowed.
struct OwnFds {
    int ring = -1;
    int bell = -1;
    int board = -1;  // -1: none
    int flags = -1;  // -1: none
};
// False: the peer is gone. `fds` may be null.
[[nodiscard]] bool send_greeting(int fd, const na::Hello& hello, const Terms& terms, const OwnFds* fds) noexcept;
// Receives the greeting. again: none has arrived; peer_lost; overloaded: this process is out of descriptors; protocol:
// descriptors are missing or surplus; otherwise as decode_greeting(). Never calls close() on a descriptor of another
// user, which may block: a PeerFd owns each descriptor that is taken, and the others stay in the socket.
[[nodiscard]] Errc receive_greeting(int fd, Greeting& out) noexcept;

// Wakes a sleeping peer. Never blocks: if the socket has no room, earlier bells are unread and will wake the peer.
void ring_socket(int fd) noexcept;
enum class SocketEvent : std::uint8_t { nothing, bell, end, descriptors };
// Reads a bounded number of bells, and returns the last event. If the other end belongs to another user, a message with
// descriptors is reported but not read, because reading it would close the descriptors.
[[nodiscard]] SocketEvent listen_for_bells(int fd, bool of_own_user) noexcept;

}  // namespace cinnabar::shm
