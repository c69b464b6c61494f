// SPDX-License-Identifier: BSD-3-Clause
// Writes to a terminal or pipe past stdio: a thread that is stuck there would hold its lock, and with it the end of the
// process.
#pragma once

#include <string_view>

namespace cinnabar::tools {

// Blocks until all is written; gives up when nobody is there any more.
void write_all(int fd, std::string_view text) noexcept;

}  // namespace cinnabar::tools
