// SPDX-License-Identifier: BSD-3-Clause
// Writes to a terminal or pipe without stdio, because a thread that blocks in stdio holds a lock of stdio, and so
// blocks the exit of the process, too.
#pragma once

#include <string_view>

namespace cinnabar::tools {

// Blocks until everything is written. Gives up on an error, for example if the reader has closed.
void write_all(int fd, std::string_view text) noexcept;

}  // namespace cinnabar::tools
