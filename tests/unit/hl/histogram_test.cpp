// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::hl {
namespace {

TEST(Histogram, quantiles_are_upper_edges) {
    RpcStats stats;
    for (int i = 0; i < 99; ++i) stats.count_call(3, Errc::ok);
    stats.count_call(1'000'000, Errc::timed_out);
    RpcCounts counts;
    stats.read(counts);
    EXPECT_EQ(counts.calls, 100u);
    EXPECT_EQ(counts.calls_failed, 1u);
    EXPECT_EQ(counts.call_time.quantile_us(0.5), 4u);
    EXPECT_EQ(counts.call_time.quantile_us(1.0), 1u << 20);
    EXPECT_EQ(counts.serve_time.quantile_us(0.5), 0u);
}

TEST(Histogram, quantiles_are_at_most_a_quarter_too_long) {
    for (TimeUs took_us = 1; took_us < 100'000'000; took_us = took_us * 9 / 8 + 1) {
        Histogram histogram;
        ++histogram.counts[Histogram::bucket_of(took_us)];
        const TimeUs told_us = histogram.quantile_us(0.99);
        EXPECT_GT(told_us, took_us);
        EXPECT_LE(told_us - took_us, std::max<TimeUs>(took_us / 4, 1)) << took_us;
    }
}

TEST(Histogram, counts_the_longest_time) {
    Histogram histogram;
    histogram.counts.at(Histogram::bucket_of(time_never)) = 1;
    EXPECT_EQ(histogram.total(), 1u);
    EXPECT_EQ(histogram.quantile_us(1), time_never);
}

TEST(Histogram, of_parts_has_also_those_that_took_no_time) {
    constexpr TimeUs very_long = TimeUs{1} << 60;
    constexpr CallParts quick{0, 0, 3, 4, 0, 1'000, 0, 70, 0};
    constexpr CallParts slow{very_long, 0, 0, 0, 0, 0, 0, 0, 1};
    RpcStats stats;
    for (int i = 0; i < 3; ++i) stats.count_parts(quick, 1'077);
    stats.count_parts(slow, very_long + 1);
    RpcCounts counts;
    stats.read(counts);
    for (std::size_t part = 0; part < call_parts; ++part) {
        Histogram wanted;
        wanted.counts[Histogram::bucket_of(quick[part])] += 3;
        wanted.counts[Histogram::bucket_of(slow[part])] += 1;
        EXPECT_EQ(counts.parts[part].counts, wanted.counts) << part;
        EXPECT_EQ(counts.parts_us[part], 3 * quick[part] + slow[part]) << part;
    }
}

}  // namespace
}  // namespace cinnabar::hl
