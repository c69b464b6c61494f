// SPDX-License-Identifier: BSD-3-Clause
// UNIX sockets of type SOCK_SEQPACKET. They carry greetings with their descriptors and bells, and report the end of the
// peer's process. All are non-blocking and closed on exec.
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

// A listening socket at that path with exactly that mode. Empty, with errno, when it cannot be made, or when something
// else has its name. Requires: the directory is locked.
[[nodiscard]] UniqueFd listen_at(const std::string& path, mode_t mode) noexcept;
// refused: no process listens there; again: its queue is full; permission; overloaded: no descriptor is left.
[[nodiscard]] Errc connect_to(const std::string& path, UniqueFd& out) noexcept;
[[nodiscard]] Credentials credentials_of(int fd) noexcept;
[[nodiscard]] bool is_own_user(const Credentials& who) noexcept;
// Whether the process at the other end of the socket may be a peer: it runs as this user or as root, or as a member of
// `group`.
[[nodiscard]] bool may_be_peer(int fd, const Credentials& who, std::optional<gid_t> group) noexcept;

// Descriptors that are sent with a greeting; borrowed.
struct OwnFds {
    int ring = -1;
    int bell = -1;
    int board = -1;  // -1: none
};
// False when the peer is gone. `fds` may be null.
[[nodiscard]] bool send_greeting(int fd, const na::Hello& hello, const Terms& terms, const OwnFds* fds) noexcept;
// again: there is none yet; protocol; peer_lost; overloaded: no room for the descriptors. Descriptors are closed only
// by `out`: those that are not taken stay in the socket.
[[nodiscard]] Errc receive_greeting(int fd, Greeting& out) noexcept;

// Wakes a peer that sleeps. Never blocks: if there is no room, other bells are unread.
void ring_socket(int fd) noexcept;
enum class Heard : std::uint8_t { nothing, bell, end, descriptors };
// Reads the bells. If the other end belongs to another user, a bell that carries descriptors is left unread and
// reported: reading it would close them.
[[nodiscard]] Heard listen_for_bells(int fd, bool of_own_user) noexcept;

}  // namespace cinnabar::shm
