// SPDX-License-Identifier: BSD-3-Clause
// The output of `cinnabar perf`: each row is printed as soon as it is measured.
#pragma once

#include "perf/results.hpp"

#include <memory>
#include <string>

namespace cinnabar::tools::perf {

class Output {
  public:
    virtual ~Output() = default;
    // `results` has only what is known at the start: versions, target and plan.
    virtual void begin(const Results& results) = 0;
    virtual void add(const CallResult& row, const Results& results) = 0;
    virtual void add(const BulkResult& row, const Results& results) = 0;
    virtual void end(const Results& results) = 0;
};

[[nodiscard]] std::unique_ptr<Output> make_text_output();
[[nodiscard]] std::unique_ptr<Output> make_json_output();  // one object per line
[[nodiscard]] std::unique_ptr<Output> make_csv_output();   // one table; cells that do not apply to a row are empty

// Formats that several outputs share. count_text(): a count such as "12.3 k". latency_json(): a JSON object.
// latency_cells(): eight cells of a CSV table, which are empty if the histogram is empty.
[[nodiscard]] std::string count_text(double count);
[[nodiscard]] std::string latency_json(const Histogram& latency);
[[nodiscard]] std::string latency_cells(const Histogram& latency);

// Format where the time of the timed calls went. part_cells(): ten cells of a table, which are empty if no call was
// timed: the number of timed calls, and the mean of each part in microseconds, by hl::CallPart. part_text(): a line for
// people with the parts that took any time; empty if no part did.
[[nodiscard]] std::string part_cells(const CallResult& row);
[[nodiscard]] std::string part_text(const CallResult& row);

}  // namespace cinnabar::tools::perf
