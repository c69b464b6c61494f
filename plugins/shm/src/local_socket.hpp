// SPDX-License-Identifier: BSD-3-Clause
// UNIX sockets that keep message borders: greetings with their descriptors, bells, and the end of the peer's process.
// All of them non-blocking and closed on exec.
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/socket.h>

#include <optional>
#include <string>

namespace cinnabar::shm {

// The process at the other end, as the kernel says.
struct Credentials {
    pid_t pid = 0;  // 0: not visible from here (another pid namespace)
    uid_t uid = 0;
    gid_t gid = 0;
};

// A listening socket at that path, of exactly that mode; its directory is locked by the caller. Empty, with errno, when
// it cannot be made, or when something else stands in its place.
[[nodiscard]] UniqueFd listen_at(const std::string& path, mode_t mode) noexcept;
// refused: no process listens there; again: its queue is full just now; permission; overloaded: no descriptor is left.
[[nodiscard]] Errc connect_to(const std::string& path, UniqueFd& out) noexcept;
[[nodiscard]] Credentials credentials_of(int fd) noexcept;
[[nodiscard]] bool is_own_user(const Credentials& who) noexcept;
// Whether that process, at the other end of the socket, may be a peer: one of the own user or of root; where a group is
// let in, one of its members.
[[nodiscard]] bool may_be_peer(int fd, const Credentials& who, std::optional<gid_t> group) noexcept;

// What is sent beside the bytes; borrowed.
struct OwnFds {
    int ring = -1;
    int bell = -1;
    int board = -1;  // -1: none
};
// False when the peer is gone. `fds` may be null.
[[nodiscard]] bool send_greeting(int fd, const na::Hello& hello, const Terms& terms, const OwnFds* fds) noexcept;
// again: none came; protocol; peer_lost; overloaded: no room for the descriptors. Nothing that the sender passed is
// closed by this, but by `out`: what is not taken stays in the socket.
[[nodiscard]] Errc receive_greeting(int fd, Greeting& out) noexcept;

// Wakes a peer that sleeps. Never blocks: if there is no room, there are unread bells.
void ring_socket(int fd) noexcept;
enum class Heard : std::uint8_t { nothing, bell, end, descriptors };
// Takes what came. If the other end is of another user it leaves a bell that brings descriptors where it is, and says
// so: reading it would close them.
[[nodiscard]] Heard listen_for_bells(int fd, bool of_own_user) noexcept;

}  // namespace cinnabar::shm
