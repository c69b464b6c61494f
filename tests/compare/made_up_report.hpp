// SPDX-License-Identifier: BSD-3-Clause
// A sample comparison in three rounds: two of ours, one slower contender, one faster one, and a limit.
#pragma once

#include "measure.hpp"
#include "outcome.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cinnabar::compare {

inline Measured measured(const char* name, bool is_ours, std::vector<double> figures) {
    Measured one{{}, std::move(figures), {}, {}, {}};
    one.contender.name = name;
    one.contender.is_ours = is_ours;
    return one;
}

inline Report some_report() {
    Compared work{{"call.host", "A call <b>", "calls", {}, "UCX"}, {}};
    work.measured = {measured("ours, shm", true, {200, 400, 600}), measured("ours, tcp", true, {100, 500, 100}),
                     measured("slower", false, {100, 0, 300}), measured("faster", false, {1000, 1000, 1200})};
    work.measured.push_back(measured("the limit", false, {2000, 2000, 2400}));
    work.measured.back().contender.is_limit = true;
    judge(work);
    Report report;
    report.works.push_back(std::move(work));
    return report;
}

}  // namespace cinnabar::compare
