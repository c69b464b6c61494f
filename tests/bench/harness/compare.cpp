// SPDX-License-Identifier: BSD-3-Clause
#include "compare.hpp"

#include <algorithm>
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

Series compare_with_first(std::span<Subject* const> subjects, Metric metric, const Effort& effort) {
    for (auto* subject : subjects) subject->run_slice(effort.slice);

    using Samples = std::vector<std::vector<double>>;  // of each subject
    Samples values(subjects.size());
    Samples ratios(subjects.size());
    const auto narrow = [&](const std::vector<double>& samples) {
        return bootstrap_median(samples).relative_width() < effort.width_wanted;
    };
    Series result;
    const auto end = seconds_now() + effort.seconds_max;
    do {
        std::vector<Slice> round(subjects.size());
        for (std::size_t i = 0; i < round.size(); ++i) round[i] += subjects[i]->run_slice(effort.slice);
        for (std::size_t i = round.size(); i > 0; --i) round[i - 1] += subjects[i - 1]->run_slice(effort.slice);
        for (std::size_t i = 0; i < round.size(); ++i) {
            if (round[i].work <= 0 || round[i].seconds <= 0) throw std::runtime_error{"a slice did nothing"};
            values[i].push_back(metric_of(metric, round[i]));
            ratios[i].push_back(values[i].back() / values[0].back());
        }
        ++result.rounds;
        if (result.rounds < effort.rounds_min || result.rounds % 4 != 0) continue;
        if (std::all_of(ratios.begin(), ratios.end(), narrow)) break;
    } while (seconds_now() < end);

    for (const auto& samples : ratios) result.ratios.push_back(bootstrap_median(samples));
    for (const auto& samples : values) result.values.push_back(median(samples));
    return result;
}

}  // namespace cinnabar::bench
