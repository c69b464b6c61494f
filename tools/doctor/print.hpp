// SPDX-License-Identifier: BSD-3-Clause
// Findings for people and for programs. Pure.
#pragma once

#include "doctor/finding.hpp"

#include <string>

namespace cinnabar::tools::doctor {

// A line or two for each, the gravest first; what is good only if `all`. Ends with a line that sums up.
[[nodiscard]] std::string text_of(const Findings& found, bool all);
// One line: {"version", "findings": [{"id", "severity", "what", "remedy", "exit"}], "exit"}
[[nodiscard]] std::string json_of(const Findings& found, const std::string& version, ExitCode exit);

}  // namespace cinnabar::tools::doctor
