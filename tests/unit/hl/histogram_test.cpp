// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

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

TEST(Histogram, adds_what_one_thread_counts_alone_to_what_all_count) {
    constexpr std::uint64_t times = 20'000;
    RpcStats stats;
    const auto count = [&stats](bool alone) {
        for (std::uint64_t i = 0; i < times; ++i) {
            stats.count_call(i % 100, i % 2 == 0 ? Errc::ok : Errc::canceled, alone);
            stats.count_request(7, Errc::ok, alone);
        }
    };
    std::thread another([&] { count(false); });
    std::thread one_more([&] { count(false); });
    count(true);
    another.join();
    one_more.join();
    RpcCounts counts;
    stats.read(counts);
    EXPECT_EQ(counts.calls, 3 * times);
    EXPECT_EQ(counts.calls_failed, 3 * times / 2);
    EXPECT_EQ(counts.requests, 3 * times);
    EXPECT_EQ(counts.serve_time.counts.at(Histogram::bucket_of(7)), 3 * times);
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
    for (int i = 0; i < 3; ++i) stats.count_parts(quick);
    stats.count_parts(slow);
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

// Two 32-bit times a word, from CallPart::queued on.
constexpr rpc::UsualParts usual_of(const CallParts& parts) {
    return {parts[3] << 32 | parts[2], parts[5] << 32 | parts[4], parts[7] << 32 | parts[6], parts[8]};
}

TEST(Histogram, of_parts_is_the_same_for_usual_times) {
    constexpr CallParts calls[] = {{0, 0, 3, 4, 0, 1'000, 0, 70, 0}, {0, 0, 1, 2, 7, 8, 16'777'215, 0, 15}, {}};
    RpcStats stats;
    RpcStats wanted;
    for (const CallParts& parts : calls) {
        stats.count_usual(usual_of(parts));
        wanted.count_parts(parts);
    }
    RpcCounts counts;
    RpcCounts of_wanted;
    stats.read(counts);
    wanted.read(of_wanted);
    EXPECT_EQ(counts.parts_us, of_wanted.parts_us);
    for (std::size_t part = 0; part < call_parts; ++part)
        EXPECT_EQ(counts.parts[part].counts, of_wanted.parts[part].counts) << part;
}

TEST(Histogram, of_parts_loses_nothing_of_several_threads) {
    constexpr CallParts parts{0, 0, 1, 2, 3, 4, 5, 6, 7};
    constexpr unsigned threads = 3;
    constexpr std::uint64_t calls = 5'000;  // of each
    RpcStats stats;
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; ++i) {
        running.emplace_back([&] {
            for (std::uint64_t call = 0; call < calls; ++call) stats.count_usual(usual_of(parts));
        });
    }
    for (int i = 0; i < 20; ++i) {
        RpcCounts meanwhile;
        stats.read(meanwhile);
        EXPECT_LE(meanwhile.parts.back().total(), threads * calls);
    }
    running.clear();
    RpcCounts counts;
    stats.read(counts);
    for (std::size_t part = 0; part < call_parts; ++part) {
        EXPECT_EQ(counts.parts[part].counts[Histogram::bucket_of(parts[part])], threads * calls) << part;
        EXPECT_EQ(counts.parts_us[part], threads * calls * parts[part]) << part;
    }
}

}  // namespace
}  // namespace cinnabar::hl
