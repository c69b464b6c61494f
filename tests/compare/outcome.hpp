// SPDX-License-Identifier: BSD-3-Clause
// The outcome of a comparison.
#pragma once

#include "contender.hpp"
#include "harness/statistics.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::compare {

struct Measured {
    Contender contender;
    std::vector<double> figures;  // the work per second of each round; 0: it failed
    std::optional<bench::Interval> figure;
    // The best of our contenders that take part, divided by this one in the same round; absent for ours, and if it was
    // not measured.
    std::optional<bench::Interval> ours_over_it;
    std::string failure;  // the last one

    [[nodiscard]] bool beats_ours() const noexcept {
        return !contender.is_limit && ours_over_it && ours_over_it->high < 1;
    }
};

struct Compared {
    Work work;
    std::vector<Measured> measured;  // in the order of work.contenders
};

struct Report {
    std::string machine;  // processor, cores, kernel
    std::string commit;
    std::string date;
    double seconds = 0;  // of a slice
    unsigned rounds = 0;
    std::vector<Compared> works;
};

}  // namespace cinnabar::compare
