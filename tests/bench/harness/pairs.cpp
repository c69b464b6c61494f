// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.hpp"

#include <utility>

namespace cinnabar::bench {

Row Pairs::row(std::string name, std::string unit, std::optional<Bar> bar, std::string limit_name) const {
    Row row;
    row.name = std::move(name);
    row.value = median(ours_);
    row.unit = std::move(unit);
    row.bar = bar;
    row.remark = std::to_string(ours_.size()) + " runs";
    if (limit_.empty()) return row;
    row.limit_name = std::move(limit_name);
    row.limit = median(limit_);
    row.ratio = bootstrap_median(ratios_);
    if (!noise_.empty()) row.noise = bootstrap_median(noise_).distance_from_one();
    if (bar) row.verdict = judge(*row.ratio, *bar);
    return row;
}

}  // namespace cinnabar::bench
