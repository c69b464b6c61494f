// SPDX-License-Identifier: BSD-3-Clause
// Which other programs are there, and of which version.
#pragma once

#include <string>

namespace cinnabar::compare {

// Puts the folders of the programs that were built here, and those of system programs, into PATH. Before all else.
void extend_path();
// Whether PATH has it.
[[nodiscard]] bool is_installed(const std::string& program);
// As dpkg knows it; "unknown" where there is no such package. One thread.
[[nodiscard]] std::string version_of_package(const std::string& package);

}  // namespace cinnabar::compare
