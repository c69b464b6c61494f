// SPDX-License-Identifier: BSD-3-Clause
// Formats findings for people and as JSON. Pure functions.
#pragma once

#include "doctor/finding.hpp"

#include <string>

namespace cinnabar::tools::doctor {

// One or two lines per finding, most severe first, and a summary line at the end. Includes good findings only if `all`.
[[nodiscard]] std::string text_of(const Findings& found, bool all);
// One line: {"version", "findings": [{"id", "severity", "what", "remedy", "exit"}], "exit"}
[[nodiscard]] std::string json_of(const Findings& found, const std::string& version, ExitCode exit);

}  // namespace cinnabar::tools::doctor
