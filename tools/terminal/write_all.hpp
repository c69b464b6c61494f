// SPDX-License-Identifier: BSD-3-Clause
// Writes to a terminal or pipe, bypassing stdio: a thread that blocks in stdio holds its lock, which would also block
// the exit of the process.
#pragma once

#include <string_view>

namespace cinnabar::tools {

// Blocks until everything is written. Gives up on an error, for example if the reader has closed.
void write_all(int fd, std::string_view text) noexcept;

}  // namespace cinnabar::tools
