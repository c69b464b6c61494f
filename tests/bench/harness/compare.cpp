// SPDX-License-Identifier: BSD-3-Clause
#include "compare.hpp"

#include <array>
#include <stdexcept>
#include <vector>

namespace cinnabar::bench {

double metric_of(Metric metric, const Slice& slice) noexcept {
    switch (metric) {
        case Metric::seconds_per_work:
            return slice.seconds / slice.work;
        case Metric::cpu_per_work:
            return (slice.client.cpu_seconds + slice.server.cpu_seconds) / slice.work;
        case Metric::work_per_second:
            return slice.work / slice.seconds;
    }
    return 0;
}

Comparison compare(Subject& ours, Subject& limit, Subject& limit_again, Metric metric, const Effort& effort) {
    const std::array<Subject*, 3> subjects{&ours, &limit, &limit_again};
    constexpr std::array<std::size_t, 6> order{0, 1, 2, 2, 1, 0};
    for (auto* subject : subjects) subject->run_slice(effort.slice);

    Comparison result;
    std::vector<double> ratios;
    std::vector<double> noises;
    std::array<std::vector<double>, 2> values;
    const auto end = seconds_now() + effort.seconds_max;
    do {
        std::array<Slice, 3> round{};
        for (const auto which : order) round[which] += subjects[which]->run_slice(effort.slice);
        for (const auto& slice : round) {
            if (slice.work <= 0 || slice.seconds <= 0) throw std::runtime_error{"a slice did nothing"};
        }
        values[0].push_back(metric_of(metric, round[0]));
        values[1].push_back(metric_of(metric, round[1]));
        ratios.push_back(values[0].back() / values[1].back());
        noises.push_back(metric_of(metric, round[2]) / values[1].back());
        result.ours_total += round[0];
        result.limit_total += round[1];
        if (ratios.size() < effort.rounds_min || ratios.size() % 4 != 0) continue;
        if (bootstrap_median(ratios).relative_width() < effort.width_wanted) break;
    } while (seconds_now() < end);

    result.ratio = bootstrap_median(ratios);
    result.noise = bootstrap_median(noises);
    result.ours = median(values[0]);
    result.limit = median(values[1]);
    result.rounds = ratios.size();
    return result;
}

}  // namespace cinnabar::bench
