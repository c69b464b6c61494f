// SPDX-License-Identifier: BSD-3-Clause
// Generates the man page of a command, in roff. Pure functions.
#pragma once

#include "shell/option_table.hpp"

#include <string>
#include <string_view>

namespace cinnabar::tools::shell {

// The page's name without its section, which is 1; for example "cinnabar-perf-serve".
[[nodiscard]] std::string page_name(const CommandTable& command);

// `program` is the table of the whole program, for SEE ALSO; `version` for example "0.1.0".
[[nodiscard]] std::string man_page(const CommandTable& command, const CommandTable& program, std::string_view version);

}  // namespace cinnabar::tools::shell
