// SPDX-License-Identifier: BSD-3-Clause
// The paired comparison. The speed of such machines changes by a factor of two within seconds, so absolute numbers are
// meaningless. Our side, the limit and a second instance of the limit alternate in short slices, back and forth (A B C
// C B A). Each round gives one ratio of our side to the limit and one of the limit to itself. Rounds continue until the
// 95 % interval of the median ratio is narrow or the time is used up.
#pragma once

#include "statistics.hpp"
#include "subject.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace cinnabar::bench {

// The quantity computed from a slice.
enum class Metric : std::uint8_t { seconds_per_work, cpu_per_work, work_per_second };
[[nodiscard]] double metric_of(Metric metric, const Slice& slice) noexcept;

struct Effort {
    std::chrono::milliseconds slice{100};
    double seconds_max = 60;
    double width_wanted = 0.03;  // of the interval, relative to the median
    std::size_t rounds_min = 16;
};

struct Comparison {
    Interval ratio;   // ours / limit
    Interval noise;   // limit / limit
    double ours = 0;  // medians over the rounds, in the metric's own unit
    double limit = 0;
    std::size_t rounds = 0;
    Slice ours_total;  // of all slices
    Slice limit_total;
};

// Each subject first runs one slice that is discarded. `limit_again` may be `limit` itself if there cannot be a second
// instance.
[[nodiscard]] Comparison compare(Subject& ours, Subject& limit, Subject& limit_again, Metric metric,
                                 const Effort& effort);

// Subjects of one kind, such as one server with few and with many clients: each one in proportion to the first.
struct Series {
    std::vector<Interval> ratios;  // of each subject, so that of the first is 1
    std::vector<double> values;    // medians over the rounds, in the metric's own unit
    std::size_t rounds = 0;
};

// The subjects alternate as those of compare() do, forth and back, until the intervals of all ratios are narrow or the
// time is used up. Each first runs one slice that is discarded. Requires: at least one subject.
[[nodiscard]] Series compare_with_first(std::span<Subject* const> subjects, Metric metric, const Effort& effort);

}  // namespace cinnabar::bench
