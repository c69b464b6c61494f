// SPDX-License-Identifier: BSD-3-Clause
// A small file that was not there before.
#pragma once

#include <cinnabar/base/result.hpp>

#include <sys/types.h>

#include <string>
#include <string_view>

namespace cinnabar::tools::security {

// On disk when it returns; nothing is left when it fails. exists: the name is taken, even by a link that leads nowhere.
[[nodiscard]] Result<void> write_new_file(const std::string& path, std::string_view content, mode_t mode);
// At most 64 KiB of a file. too_large.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

}  // namespace cinnabar::tools::security
