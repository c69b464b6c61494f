// SPDX-License-Identifier: BSD-3-Clause
// What both sides of a handshake over a socket share (SocketDial, SocketHandshake): they establish the guard, send a
// greeting of a fixed size first, and read the greeting of the other side. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>

namespace cinnabar::na {

// The largest greeting of any transport.
inline constexpr std::size_t greeting_bytes_max = 512;

// Collects the bytes of a greeting.
class CINNABAR_API GreetingReader {
  public:
    void expect(std::size_t bytes) noexcept;
    // Reads the greeting, and nothing beyond it. again: not complete yet; ok: bytes() is complete; peer_lost, or an
    // error of Stream::receive.
    [[nodiscard]] Errc read(Stream& stream) noexcept;
    [[nodiscard]] ConstBytes bytes() const noexcept { return {bytes_.data(), have_}; }

  private:
    std::array<std::byte, greeting_bytes_max> bytes_;
    std::size_t have_ = 0;
    std::size_t need_ = 0;
};

// Sends a greeting as the first bytes of a socket; false: the connection is gone.
[[nodiscard]] CINNABAR_API bool send_greeting(Stream& stream, ConstBytes greeting) noexcept;

// Continues the handshake of the stream's guard. `watched`: the epoll events for which `ready` watches the socket; this
// function keeps them up to date. again: not established yet; overloaded: the socket cannot be watched; other errors:
// those of the guard.
[[nodiscard]] Errc establish_guard(PortHost& host, Stream& stream, FdEvents& ready, std::uint32_t& watched) noexcept;

}  // namespace cinnabar::na
