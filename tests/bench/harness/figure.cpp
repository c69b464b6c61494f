// SPDX-License-Identifier: BSD-3-Clause
#include "figure.hpp"

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

Row run_contest(const Contest& contest, const MakeSubject& ours, const MakeSubject& limit, const Settings& settings) {
    const auto limit_first = limit(settings);
    const auto limit_second = limit(settings);
    const auto our_side = ours(settings);
    return row_of(contest, compare(*our_side, *limit_first, *limit_second, contest.metric, settings.effort));
}

}  // namespace cinnabar::bench
