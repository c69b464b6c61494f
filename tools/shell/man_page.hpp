// SPDX-License-Identifier: BSD-3-Clause
// The man page of a command, in roff. Pure.
#pragma once

#include "shell/option_table.hpp"

#include <string>
#include <string_view>

namespace cinnabar::tools::shell {

// "cinnabar-perf-serve": the name of its page, without the section, which is 1.
[[nodiscard]] std::string page_name(const CommandTable& command);

// `program` is the table of the whole, for what to see also; `version` is "0.1.0".
[[nodiscard]] std::string man_page(const CommandTable& command, const CommandTable& program, std::string_view version);

}  // namespace cinnabar::tools::shell
