// SPDX-License-Identifier: BSD-3-Clause
// Sends bytes from a pipe to a socket without copying them, by non-blocking system calls.
#pragma once

#include <cinnabar/na/session/socket.hpp>

#include <cstddef>

namespace cinnabar::tcp {

// Sends up to `bytes` bytes from the pipe to the socket; returns as na::send_some. io: the pipe holds pages of a file
// that the file system has taken back. A closed connection does not raise SIGPIPE. Requires: the pipe holds at least
// `bytes` bytes.
[[nodiscard]] na::Moved splice_some(int socket, int pipe, std::size_t bytes) noexcept;

}  // namespace cinnabar::tcp
