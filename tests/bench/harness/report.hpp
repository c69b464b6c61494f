// SPDX-License-Identifier: BSD-3-Clause
// The rows of a run: the table for people and the file for programs.
#pragma once

#include "statistics.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::bench {

struct Row {
    std::string name;
    double value = 0;
    std::string unit;
    std::string limit_name;  // empty if there is nothing to compare with
    std::optional<double> limit;
    std::optional<Interval> ratio;  // value / limit; absent if that is meaningless
    std::optional<double> noise;    // how far the ratio of the limit to itself is from 1
    std::optional<Bar> bar;         // absent for rows that are only shown
    std::optional<Verdict> verdict;
    std::string remark;  // "48 rounds", "1.0 CPU of the client"
};

// A row whose value is judged against the limit itself, such as a count.
[[nodiscard]] Row count_row(std::string name, double value, std::string unit, double limit);

// A row that cannot be measured on this machine; its remark says why.
[[nodiscard]] Row skipped_row(std::string name, const std::string& why);

[[nodiscard]] std::string to_table(const std::vector<Row>& rows);

// A list with one row per line, of {"name", "value", "unit", "limit_name", "limit", "ratio", "ci_low", "ci_high",
// "noise", "bar", "verdict", "remark"}; fields that a row does not have are null.
[[nodiscard]] std::string to_json(const std::vector<Row>& rows);

}  // namespace cinnabar::bench
