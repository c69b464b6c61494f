// SPDX-License-Identifier: BSD-3-Clause
// Generates completion scripts for shells. Pure functions.
#pragma once

#include "shell/option_table.hpp"

#include <string>

namespace cinnabar::tools::shell {

[[nodiscard]] std::string bash_completion(const CommandTable& program);
[[nodiscard]] std::string zsh_completion(const CommandTable& program);
[[nodiscard]] std::string fish_completion(const CommandTable& program);

}  // namespace cinnabar::tools::shell
