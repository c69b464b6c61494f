// SPDX-License-Identifier: BSD-3-Clause
#include "figure.hpp"

#include <stdexcept>

namespace cinnabar::bench {

Row row_of(const Contest& contest, const Comparison& result) {
    Row row;
    row.name = contest.name;
    row.value = result.ours * contest.scale;
    row.unit = contest.unit;
    row.limit_name = contest.limit_name;
    row.limit = result.limit * contest.scale;
    row.ratio = result.ratio;
    row.noise = result.noise.distance_from_one();
    row.bar = contest.bar;
    if (contest.bar) row.verdict = judge(result.ratio, *contest.bar);
    row.remark = std::to_string(result.rounds) + " rounds";
    return row;
}

Row row_alone(const Contest& contest, Subject& ours, std::size_t runs, const std::string& why, const Effort& effort) {
    ours.run_slice(effort.slice);
    std::vector<double> values;
    for (std::size_t i = 0; i < runs; ++i) {
        const auto slice = ours.run_slice(effort.slice);
        if (slice.work <= 0 || slice.seconds <= 0) throw std::runtime_error{"a slice did nothing"};
        values.push_back(metric_of(contest.metric, slice));
    }
    Row row;
    row.name = contest.name;
    row.value = median(values) * contest.scale;
    row.unit = contest.unit;
    row.bar = contest.bar;
    row.remark = std::to_string(runs) + " runs; comparison skipped: " + why;
    return row;
}

Row run_contest(const Contest& contest, const MakeSubject& ours, const MakeSubject& limit, const Settings& settings) {
    const auto limit_first = limit(settings);
    const auto limit_second = limit(settings);
    const auto our_side = ours(settings);
    return row_of(contest, compare(*our_side, *limit_first, *limit_second, contest.metric, settings.effort));
}

}  // namespace cinnabar::bench
