// SPDX-License-Identifier: BSD-3-Clause
// Two connected TCP sockets over the loopback, as the raw limits use them, and loops over whole messages. They throw
// std::runtime_error if the connection ends or fails.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::bench {

struct TcpPair {
    UniqueFd client;
    UniqueFd server;
};

// Blocking sockets with TCP_NODELAY and without pacing.
[[nodiscard]] TcpPair make_tcp_pair();

// The same in separate steps, for two processes.
[[nodiscard]] UniqueFd listen_on_loopback();
[[nodiscard]] std::uint16_t port_of(int listener);
[[nodiscard]] UniqueFd dial(std::uint16_t port);
[[nodiscard]] UniqueFd accept_from(int listener);
// The socket leaves no TIME_WAIT, which would use up the ports of a figure that connects again and again.
void reset_at_close(int fd);

enum class Wait : bool { spin, block };

// Sends or receives all of it, spinning on non-blocking calls or blocking.
void send_all(int fd, const std::byte* from, std::size_t size, Wait wait);
void receive_all(int fd, std::byte* to, std::size_t size, Wait wait);

// One non-blocking call. Returns the bytes moved; 0 if the socket has no room or nothing to read.
[[nodiscard]] std::size_t send_some(int fd, const std::byte* from, std::size_t size);
[[nodiscard]] std::size_t receive_some(int fd, std::byte* to, std::size_t size);

}  // namespace cinnabar::bench
