// SPDX-License-Identifier: BSD-3-Clause
// Sending bytes of a pipe, by non-blocking system calls.
#pragma once

#include <cinnabar/na/session/socket.hpp>

#include <cstddef>

namespace cinnabar::tcp {

// As na::send_some; io: the bytes were pages of a file that its file system has taken back meanwhile. A closed
// connection raises no signal. Requires: the pipe holds at least `bytes` bytes.
[[nodiscard]] na::Moved splice_some(int socket, int pipe, std::size_t bytes) noexcept;

}  // namespace cinnabar::tcp
