// SPDX-License-Identifier: BSD-3-Clause
// Small files: creates a new one, replaces one, or reads one.
#pragma once

#include <cinnabar/base/result.hpp>

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::tools::security {

// Creates a file, which is on disk when the function returns. After an error no file is left. exists: the name is
// taken, even if by a dangling symbolic link.
[[nodiscard]] Result<void> write_new_file(const std::string& path, std::string_view content, mode_t mode);
// Writes a file atomically, replacing an existing file: readers find either the old content or the new content. One
// call at a time per path.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode);
// Reads a whole file. too_large: it has more than `bytes_max` bytes.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max = 64 * 1024);

}  // namespace cinnabar::tools::security
