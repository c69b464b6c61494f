// SPDX-License-Identifier: BSD-3-Clause
// Our side and what it is compared with, from runs that are too long, or too few, for the slices of compare(). Each
// pair was taken one right after the other.
#pragma once

#include "report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::bench {

class Pairs {
  public:
    // Without anything to compare with.
    void add(double ours) { ours_.push_back(ours); }
    void add(double ours, double limit) {
        add(ours);
        limit_.push_back(limit);
        ratios_.push_back(ours / limit);
    }
    // With a second run of the limit, which tells the noise.
    void add(double ours, double limit, double limit_again) {
        add(ours, limit);
        noise_.push_back(limit_again / limit);
    }

    // Medians, and the interval of the median ratio. No limit and no verdict if there is nothing to compare with.
    // Requires: there was at least one run.
    [[nodiscard]] Row row(std::string name, std::string unit, std::optional<Bar> bar, std::string limit_name) const;

  private:
    std::vector<double> ours_;
    std::vector<double> limit_;
    std::vector<double> ratios_;
    std::vector<double> noise_;
};

}  // namespace cinnabar::bench
