// SPDX-License-Identifier: BSD-3-Clause
// All measurements of one run, as plain data.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/call_load.hpp"
#include "perf/plan.hpp"
#include "perf/target.hpp"
#include "terminal/exit_code.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

struct CopyRate {
    std::uint64_t bytes = 0;  // size of each copy
    double bytes_per_second = 0;
};

struct Results {
    std::string version;  // version of this side
    std::string command;  // the command line as given
    std::string began;    // local time
    Target target;
    Plan plan;
    std::vector<CallResult> calls;
    std::vector<BulkResult> bulk;
    std::vector<CopyRate> machine;  // memory copy rates for the sizes of `bulk`

    // The exit code of the first row that did not end well.
    [[nodiscard]] ExitCode exit() const noexcept;
};

// For example "64 B", "4 KiB", "1000000 B": always exact.
[[nodiscard]] std::string size_text(std::uint64_t bytes);
// For example "64 B, depth 16, 2 contexts", "64 B, 10000 calls/s planned (poisson)".
[[nodiscard]] std::string label_of(const CallShape& shape);
// For example "1 MiB pull, depth 8, 16 segments".
[[nodiscard]] std::string label_of(const BulkShape& shape);

}  // namespace cinnabar::tools::perf
