// SPDX-License-Identifier: BSD-3-Clause
// What `cinnabar perf` prints: row by row, as soon as each is measured.
#pragma once

#include "perf/results.hpp"

#include <memory>

namespace cinnabar::tools::perf {

class Output {
  public:
    virtual ~Output() = default;
    // Of the results only what is known before: versions, target and plan.
    virtual void begin(const Results& results) = 0;
    virtual void add(const CallResult& row, const Results& results) = 0;
    virtual void add(const BulkResult& row, const Results& results) = 0;
    virtual void end(const Results& results) = 0;
};

[[nodiscard]] std::unique_ptr<Output> make_text_output();
[[nodiscard]] std::unique_ptr<Output> make_json_output();  // an object a line
[[nodiscard]] std::unique_ptr<Output> make_csv_output();   // one table; a column that has no meaning for a row is empty

}  // namespace cinnabar::tools::perf
