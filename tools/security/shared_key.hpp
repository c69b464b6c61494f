// SPDX-License-Identifier: BSD-3-Clause
// Generates a shared key for tcps, ofis and verbss, as a file.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>

namespace cinnabar::tools::security {

// Writes the line NAME:HEX, where HEX is 32 random bytes, to a new file that only its owner can read. Errors: those of
// check_name() and write_new_file().
[[nodiscard]] Result<void> make_shared_key(const std::string& path, const std::string& name);
// The default name of the key in a file: the file's name without its extension.
[[nodiscard]] std::string name_for_file(const std::string& path);

}  // namespace cinnabar::tools::security
