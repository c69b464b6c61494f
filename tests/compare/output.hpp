// SPDX-License-Identifier: BSD-3-Clause
// Formats a report for people and for programs. All forms except JSON begin with the works at which others are faster.
// Pure.
#pragma once

#include "outcome.hpp"

#include <string>

namespace cinnabar::compare {

[[nodiscard]] std::string to_text(const Report& report);
// For docs/performance.md.
[[nodiscard]] std::string to_markdown(const Report& report);
// A self-contained page.
[[nodiscard]] std::string to_html(const Report& report);
// {"machine", "commit", "date", "seconds", "rounds", "works": [{"name", "title", "unit", "missing", "contenders":
// [{"name", "version", "server", "client", "remark", "limit", "figures", "median", "ours_over_it", "failure"}]}]}. A
// figure is null if the contender failed.
[[nodiscard]] std::string to_json(const Report& report);

// Whether one of ours was not measured in some round.
[[nodiscard]] bool has_failures(const Report& report) noexcept;

// "12.3 thousand calls/s", "1.23 GB/s"; "-" without a figure.
[[nodiscard]] std::string figure_text(const Measured& measured, const std::string& unit);
// "2.31 [2.11 2.40]"; "-" without a ratio.
[[nodiscard]] std::string ratio_text(const Measured& measured);
// The work and the contender, for each contender that is faster than ours. The largest lead comes first.
struct Lead {
    const Compared* work;
    const Measured* contender;
};
[[nodiscard]] std::vector<Lead> leads(const Report& report);

}  // namespace cinnabar::compare
