// SPDX-License-Identifier: BSD-3-Clause
// A key for both sides of tcps, as a file.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>

namespace cinnabar::tools::security {

// Writes the line NAME:HEX of 32 random bytes into a new file that only its owner can read. Errors of check_name and
// write_new_file.
[[nodiscard]] Result<void> make_shared_key(const std::string& path, const std::string& name);
// What a key in that file is called if nobody says otherwise: the file's name without its ending.
[[nodiscard]] std::string name_for_file(const std::string& path);

}  // namespace cinnabar::tools::security
