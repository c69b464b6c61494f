// SPDX-License-Identifier: BSD-3-Clause
#include "watch/history.hpp"

#include "watch/states.hpp"

#include <cinnabar/hl/histogram.hpp>

#include <gtest/gtest.h>

namespace cinnabar::tools::watch {
namespace {

TEST(History, RatesAreOfTheTimeBetweenTwoStates) {
    History history;
    EXPECT_EQ(history.take(state_at(0, {served("a", 100)})).at(0).per_second, 0) << "of one state there is no rate";
    const auto rows = history.take(state_at(2, {served("a", 150, 4)}));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_DOUBLE_EQ(rows[0].per_second, 25);
    EXPECT_DOUBLE_EQ(rows[0].failed_per_second, 2);
    EXPECT_EQ(rows[0].requests, 150u);
    EXPECT_EQ(rows[0].past, std::vector<double>{25});
    EXPECT_DOUBLE_EQ(history.processor_share(), 0.25);
}

TEST(History, QuantilesAreOfWhatIsNew) {
    History history;
    auto before = served("a", 1'000);
    auto now = before;
    now.requests += 10;
    now.serve_time.resize(hl::Histogram::bucket_of(1'000) + 1);
    now.serve_time.back() = 10;
    (void)history.take(state_at(0, {before}));
    const auto rows = history.take(state_at(1, {now}));
    EXPECT_DOUBLE_EQ(rows.at(0).p50_us, 1'024);
    EXPECT_DOUBLE_EQ(history.take(state_at(2, {now})).at(0).p50_us, 4) << "none is new: of all";
}

TEST(History, ANodeThatBeganAnewHasNoNegativeRate) {
    History history;
    (void)history.take(state_at(0, {served("a", 1'000)}));
    const auto rows = history.take(state_at(1, {served("a", 5)}));
    EXPECT_EQ(rows.at(0).per_second, 0);
    EXPECT_DOUBLE_EQ(rows.at(0).p99_us, 4);
}

TEST(History, WhereTimeGoesIsOfWhatIsNew) {
    History history;
    const auto slow = timed("a", 10, {0, 0, 0, 0, 0, 10'000'000, 0, 0, 0});
    auto quick = slow;
    quick.timed += 4;
    quick.parts_us = {400, 0, 0, 0, 0, 10'000'008, 0, 0, 0};
    EXPECT_DOUBLE_EQ(history.take(state_at(0, {slow})).at(0).parts_us[5], 1'000'000) << "at first, of all";
    const auto rows = history.take(state_at(1, {quick}));
    EXPECT_EQ(rows.at(0).timed, 4u);
    EXPECT_DOUBLE_EQ(rows[0].parts_us[0], 100);
    EXPECT_DOUBLE_EQ(rows[0].parts_us[5], 2);
    const auto same = history.take(state_at(2, {quick}));
    EXPECT_EQ(same.at(0).timed, 14u) << "none is new: of all";
    const auto began_again = timed("a", 1, {1, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(history.take(state_at(3, {began_again})).at(0).timed, 1u) << "another process";
    EXPECT_EQ(history.take(state_at(4, {timed("a", 2, {1, 0, 0, 0, 0})})).at(0).timed, 0u) << "parts of before";
}

TEST(History, PeersHaveRatesOfTheirBytes) {
    History history;
    const auto at = [](int second, std::uint64_t bytes) {
        State state = state_at(second, {});
        state.peers = {connected("one"), connected("two")};
        state.traffic = {{bytes, 0}, {bytes, bytes}};
        return state;
    };
    const State first = at(0, 1'000);
    (void)history.take(first);
    EXPECT_TRUE(history.peers(first).at(0).past.empty()) << "of one state there is no rate";
    (void)history.take(state_at(1, {}));  // of a view that does not ask for peers
    const State second = at(2, 3'000);
    (void)history.take(second);
    const auto rows = history.peers(second);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_DOUBLE_EQ(rows[0].bytes_per_second, 1'000);
    EXPECT_DOUBLE_EQ(rows[1].bytes_per_second, 2'000);
    EXPECT_EQ(rows[1].past, std::vector<double>{2'000});
    ASSERT_TRUE(rows[1].traffic);
    EXPECT_EQ(rows[1].traffic->bytes_received, 3'000u);
    (void)history.take(at(3, 0));
    EXPECT_DOUBLE_EQ(history.peers(second).at(0).bytes_per_second, 0) << "another process";
    State gone = at(4, 0);
    gone.peers.pop_back();
    (void)history.take(gone);
    EXPECT_EQ(history.peers(gone).at(0).past.size(), 3u);
    (void)history.take(at(5, 0));
    EXPECT_TRUE(history.peers(second).at(1).past.empty()) << "it was forgotten, and is new again";
}

TEST(History, OfPeersOfAnEarlierVersionThereIsNoRate) {
    History history;
    State state = state_at(0, {});
    state.peers = {connected("one")};
    (void)history.take(state);
    state.when += std::chrono::seconds(1);
    (void)history.take(state);
    EXPECT_FALSE(history.peers(state).at(0).traffic);
    EXPECT_TRUE(history.peers(state).at(0).past.empty());
}

TEST(History, KeepsAMinute) {
    History history;
    std::vector<RpcRow> rows;
    for (int second = 0; second < 100; ++second) {
        rows = history.take(state_at(second, {served("a", static_cast<std::uint64_t>(second) * 10)}));
    }
    EXPECT_EQ(rows.at(0).past, std::vector<double>(History::kept, 10));
}

}  // namespace
}  // namespace cinnabar::tools::watch
