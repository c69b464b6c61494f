// SPDX-License-Identifier: BSD-3-Clause
// Which other programs are installed, and their versions.
#pragma once

#include <string>

namespace cinnabar::compare {

// Adds the folders of the programs that were built here, and those of system programs, to PATH. Call it first.
void extend_path();
// Whether the program is in PATH.
[[nodiscard]] bool is_installed(const std::string& program);
// The version known to dpkg; "unknown" if there is no such package. One thread.
[[nodiscard]] std::string version_of_package(const std::string& package);

}  // namespace cinnabar::compare
