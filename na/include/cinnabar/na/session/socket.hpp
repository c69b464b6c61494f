// SPDX-License-Identifier: BSD-3-Clause
// The few things that a transport asks of a TCP socket, each one system call, none of them blocking.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <sys/uio.h>

#include <cstddef>

namespace cinnabar::na {

// A listening socket bound to the first of `addresses` that works. address_in_use, bad_address, permission.
[[nodiscard]] CINNABAR_API Result<UniqueFd> listen_at(const std::vector<SocketAddress>& addresses);

// Starts to connect. ok: done or under way, look for EPOLLOUT; refused, unreachable, ... otherwise. `source`: bound
// first where the families agree; may be null.
[[nodiscard]] CINNABAR_API Errc start_connect(const SocketAddress& to, const SocketAddress* source,
                                              UniqueFd& out) noexcept;
// How a connect that was under way ended: ok, again (still under way), or why it failed.
[[nodiscard]] CINNABAR_API Errc connect_outcome(int fd) noexcept;

// Of a connected socket: no Nagle; no pacing within a host; keepalive and user timeout so that a dead host is noticed
// within `keepalive` (0: never).
CINNABAR_API void tune(int fd, Microseconds keepalive) noexcept;

// What connect() and SO_ERROR say, as the code that the waiting operations get.
[[nodiscard]] CINNABAR_API Errc connect_errc(int os_errno) noexcept;

// Drops what came and was not read, within a bound.
CINNABAR_API void discard_received(int fd) noexcept;

// Whether the other side has closed its end. What it sent before stays.
[[nodiscard]] CINNABAR_API bool hung_up(int fd) noexcept;

// Outcome of one read or write: bytes moved, or the reason for none.
struct Moved {
    std::size_t bytes = 0;
    Errc why = Errc::ok;  // again: nothing to read, or no room; peer_lost: closed or reset; ok otherwise
};
[[nodiscard]] CINNABAR_API Moved receive_some(int fd, void* to, std::size_t bytes) noexcept;
[[nodiscard]] CINNABAR_API Moved receive_some(int fd, iovec* pieces, std::size_t count) noexcept;
[[nodiscard]] CINNABAR_API Moved send_some(int fd, const void* from, std::size_t bytes) noexcept;
[[nodiscard]] CINNABAR_API Moved send_some(int fd, iovec* pieces, std::size_t count) noexcept;

}  // namespace cinnabar::na
