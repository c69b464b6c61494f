// SPDX-License-Identifier: BSD-3-Clause
#include "timed_calls.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/rpc/peer_times.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace cinnabar::rpc {
namespace {

TimeUs sum_of(const CallParts& parts) { return std::accumulate(parts.begin(), parts.end(), TimeUs{0}); }

// About half of them fit into each other.
CallTimes any_times(Random& random) {
    const auto few = [&] { return static_cast<std::uint32_t>(random.below(8)); };
    CallTimes times;
    times.made = 1'000;
    times.left = times.made + random.below(30) - (random.chance(8) ? 20u : 0u);
    times.answered = times.left + random.below(40) - (random.chance(8) ? 20u : 0u);
    times.told = times.answered + random.below(10) - (random.chance(8) ? 5u : 0u);
    times.connecting_us = few();
    times.for_credit_us = few();
    times.there_us = few();
    times.waited_us = few();
    times.handled_us = few();
    times.transfers_us = few() / 2;
    return times;
}

TEST(PartsOf, AreCutOnlyIfTheyDoNotFit) {
    Random random(1);
    unsigned fit = 0;
    constexpr unsigned tries = 10'000;
    for (unsigned i = 0; i < tries; ++i) {
        const CallTimes times = any_times(random);
        const CallParts parts = parts_of(times);
        ASSERT_EQ(parts, detail::cut_parts_of(times)) << "with and without the short cut, " << i;
        ASSERT_EQ(sum_of(parts), whole_of(times)) << i;
        const bool fits = parts[0] == times.connecting_us && parts[1] == times.for_credit_us &&
                          parts[3] == times.there_us && parts[4] == times.waited_us &&
                          parts[5] + parts[6] == times.handled_us && parts[6] == times.transfers_us;
        fit += fits ? 1 : 0;
    }
    EXPECT_GT(fit, tries / 10);
    EXPECT_LT(fit, tries - tries / 10);
}

TEST(PartsOf, AddUpWhateverTheClocksSay) {
    constexpr TimeUs last = ~TimeUs{0};
    constexpr std::uint32_t most = ~std::uint32_t{0};
    constexpr std::array<TimeUs, 6> words{0, 1, last / 2, last / 2 + 1, last - 1, last};
    for (const TimeUs made : words) {
        for (const TimeUs left : words) {
            for (const TimeUs answered : words) {
                for (const TimeUs told : words) {
                    for (const std::uint32_t claim : {std::uint32_t{0}, most}) {
                        const CallTimes times{made, left, answered, told, claim, claim, claim, claim, claim, claim};
                        const CallParts parts = parts_of(times);
                        ASSERT_EQ(parts, detail::cut_parts_of(times));
                        const TimeUs whole = whole_of(times);
                        ASSERT_EQ(sum_of(parts), whole);
                        for (const TimeUs part : parts) ASSERT_LE(part, whole);
                    }
                }
            }
        }
    }
}

TEST(PeerTimes, CountEachPartInItsBucket) {
    PeerTimes times;
    const CallParts parts{0, 1, 2, 3, 4, 100, 0, 70'000, 5};
    times.count(parts, sum_of(parts));
    times.count(CallParts{}, 0);
    EXPECT_EQ(times.calls, 2u);
    for (std::size_t part = 0; part < call_parts; ++part) {
        std::array<std::uint32_t, PeerTimes::buckets> wanted{};
        ++wanted[0];
        ++wanted[log_linear_bucket(parts[part], PeerTimes::bits)];
        EXPECT_EQ(times.counts[part], wanted) << part;
        EXPECT_EQ(times.sums_us[part], parts[part]) << part;
    }
    EXPECT_EQ(times.sums_us[PeerTimes::whole], sum_of(parts));
    EXPECT_EQ(times.counts[PeerTimes::whole][log_linear_bucket(sum_of(parts), PeerTimes::bits)], 1u);
}

TEST(TimedCalls, CountUsualTimesAlike) {
    Random random(2);
    TimedCalls calls;
    PeerTimes wanted;
    for (unsigned i = 0; i < 2'000; ++i) {
        CallParts parts{};
        for (std::size_t part = usual_parts_begin; part < static_cast<std::size_t>(CallPart::for_caller); ++part)
            parts[part] = random.below(std::uint64_t{1} << random.below(22));
        const TimeUs whole = sum_of(parts);
        ASSERT_LT(whole, TimeUs{1} << usual_time_bits);
        wanted.count(parts, whole);
        if (random.chance(4)) {
            calls.count(parts, whole);
            continue;
        }
        const auto short_part = [&](std::size_t part) { return static_cast<std::uint32_t>(parts[part]); };
        calls.count_usual({detail::two_times(short_part(3), short_part(2)),
                           detail::two_times(short_part(5), short_part(4)),
                           detail::two_times(short_part(7), short_part(6)), whole << 32});
    }
    const PeerTimes counted = calls.read();
    EXPECT_EQ(counted.calls, wanted.calls);
    EXPECT_EQ(counted.sums_us, wanted.sums_us);
    EXPECT_EQ(counted.counts, wanted.counts);
    EXPECT_EQ(calls.calls(), wanted.calls);
    EXPECT_EQ(calls.sum_us(PeerTimes::whole), wanted.sums_us[PeerTimes::whole]);
    EXPECT_EQ(calls.quantile_us(0.5), wanted.quantile_us(PeerTimes::whole, 0.5));
}

TEST(PeerTimes, LongerTimesCountAsTheLongest) {
    PeerTimes times;
    constexpr TimeUs beyond = PeerTimes::longest_us + 10;
    const CallParts parts{beyond, 0, 7, 0, 0, 0, 0, 0, 1};
    times.count(parts, sum_of(parts));
    times.count(CallParts{PeerTimes::longest_us}, PeerTimes::longest_us);
    EXPECT_EQ(times.calls, 2u);
    EXPECT_EQ(times.counts[0].back(), 2u);
    EXPECT_EQ(times.counts[PeerTimes::whole].back(), 2u);
    EXPECT_EQ(times.counts[2][log_linear_bucket(7, PeerTimes::bits)], 1u);
    EXPECT_EQ(times.sums_us[0], beyond + PeerTimes::longest_us);
}

}  // namespace
}  // namespace cinnabar::rpc
