// SPDX-License-Identifier: BSD-3-Clause
// Small files: one that was not there before, one in place of another, and what is in one.
#pragma once

#include <cinnabar/base/result.hpp>

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::tools::security {

// On disk when it returns; nothing is left when it fails. exists: the name is taken, even by a link that leads nowhere.
[[nodiscard]] Result<void> write_new_file(const std::string& path, std::string_view content, mode_t mode);
// In place of what may be there; whoever opens it finds the old or the new one. One at a time for each path.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode);
// The whole of a file. too_large: it has more bytes.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max = 64 * 1024);

}  // namespace cinnabar::tools::security
