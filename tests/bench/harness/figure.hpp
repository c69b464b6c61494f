// SPDX-License-Identifier: BSD-3-Clause
// A figure: a name, and the function that measures it and returns its rows.
#pragma once

#include "compare.hpp"
#include "report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cinnabar::bench {

struct Settings {
    bool quick = false;
    Cores cores;
    Effort effort;
    std::string tool;  // path of the `cinnabar` command
};

struct Figure {
    std::string name;
    std::function<std::vector<Row>(const Settings&)> run;
};

// The parameters of a figure that compares our side with the machine's limit.
struct Contest {
    std::string name;
    std::string unit;
    double scale;  // from the metric's own unit (seconds, work per second) to `unit`
    Metric metric;
    std::optional<Bar> bar;
    std::string limit_name;
};

using MakeSubject = std::function<std::unique_ptr<Subject>(const Settings&)>;

[[nodiscard]] Row row_of(const Contest& contest, const Comparison& result);

// Our side alone, because what it is compared with is not on this machine: the median of `runs` slices, no verdict.
[[nodiscard]] Row row_alone(const Contest& contest, Subject& ours, std::size_t runs, const std::string& why,
                            const Effort& effort);

// Makes two instances of the limit and one of ours, compares them and judges.
[[nodiscard]] Row run_contest(const Contest& contest, const MakeSubject& ours, const MakeSubject& limit,
                              const Settings& settings);

}  // namespace cinnabar::bench
