// SPDX-License-Identifier: BSD-3-Clause
// System calls on TCP sockets that transports share. None of them blocks.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <sys/uio.h>

#include <cstddef>

namespace cinnabar::na {

// A listening socket bound to the first of `addresses` that can be bound. address_in_use, bad_address, permission.
[[nodiscard]] CINNABAR_API Result<UniqueFd> listen_at(const std::vector<SocketAddress>& addresses);

// Starts to connect. ok: connected, or in progress (wait for EPOLLOUT); otherwise why it failed. If `source` is not
// null and has the same address family, the socket is bound to it first.
[[nodiscard]] CINNABAR_API Errc start_connect(const SocketAddress& to, const SocketAddress* source,
                                              UniqueFd& out) noexcept;
// The outcome of a connect in progress: ok, again (still in progress), or why it failed.
[[nodiscard]] CINNABAR_API Errc connect_outcome(int fd) noexcept;

// Sets options of a connected socket: no Nagle, no pacing within a host, and keepalive and user timeout such that a
// dead host is noticed within `keepalive` (0: never).
CINNABAR_API void tune(int fd, Microseconds keepalive) noexcept;

// Converts an errno of connect() or SO_ERROR.
[[nodiscard]] CINNABAR_API Errc connect_errc(int os_errno) noexcept;

// Discards received bytes that were not read, up to a bound.
CINNABAR_API void discard_received(int fd) noexcept;

// Whether the peer has closed its end. Bytes that it sent before can still be read.
[[nodiscard]] CINNABAR_API bool hung_up(int fd) noexcept;

// The outcome of one read or write: how many bytes it moved, or why it moved none.
struct Moved {
    std::size_t bytes = 0;
    Errc why = Errc::ok;  // again: nothing to read, or no room; peer_lost: closed or reset; otherwise ok
};
[[nodiscard]] CINNABAR_API Moved receive_some(int fd, void* to, std::size_t bytes) noexcept;
[[nodiscard]] CINNABAR_API Moved receive_some(int fd, iovec* pieces, std::size_t count) noexcept;
[[nodiscard]] CINNABAR_API Moved send_some(int fd, const void* from, std::size_t bytes) noexcept;
[[nodiscard]] CINNABAR_API Moved send_some(int fd, iovec* pieces, std::size_t count) noexcept;
// As send_some, but the next bytes sent go into the same packet (MSG_MORE).
[[nodiscard]] CINNABAR_API Moved send_ahead(int fd, const void* from, std::size_t bytes) noexcept;

}  // namespace cinnabar::na
