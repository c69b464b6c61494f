// SPDX-License-Identifier: BSD-3-Clause
#include "watch/screen.hpp"

#include "watch/states.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tools::watch {
namespace {

std::size_t columns(const std::string& line) {
    return static_cast<std::size_t>(
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

State busy() {
    std::vector<look::RpcReport> rpcs;
    for (int i = 0; i < 100; ++i) {
        rpcs.push_back(served("service.operation-" + std::to_string(i), static_cast<std::uint64_t>(i) * 1'000'000'000));
    }
    rpcs.push_back(served(std::string(300, 'n') + "\x1b[2J", 1));
    State state = state_at(3, rpcs);
    for (int i = 0; i < 100; ++i) state.peers.push_back(connected("incoming tcp://10.0.0.7:" + std::to_string(i)));
    for (int i = 0; i < 100; ++i) {
        state.calls.push_back(
            waiting("echo", rpc::CallPhase::waits_for_credit, static_cast<std::uint64_t>(i) * 100'000));
    }
    for (int i = 0; i < 32; ++i) state.node.lines.push_back({5'000'000, "warning", "tcp", std::string(255, 'x')});
    return state;
}

TEST(Screen, FillsWhatThereIsAndNoMore) {
    const State state = busy();
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{80, 24}, {200, 60}, {30, 6}, {8, 3}}) {
        for (const Tab tab : {Tab::rpcs, Tab::peers, Tab::calls, Tab::log}) {
            History history;
            const auto lines =
                draw(state, history.take(state), history, "tcp://10.0.0.1:5", {tab, Order::rate, width, height});
            ASSERT_EQ(lines.size(), height);
            for (const auto& line : lines) {
                EXPECT_LE(columns(line), width) << line;
                EXPECT_EQ(line.find('\x1b'), std::string::npos);
            }
        }
    }
}

TEST(Screen, OfTwoSizesShowsTheSameRpcsFirst) {
    History history;
    const State state = state_at(0, {served("slow", 10), served("fast", 20, 3)});
    (void)history.take(state_at(0, {served("slow", 0), served("fast", 0)}));
    State later = state;
    later.when += std::chrono::seconds(1);
    const auto rows = history.take(later);
    const auto small = draw(later, rows, history, "a", {Tab::rpcs, Order::rate, 80, 24});
    EXPECT_NE(small[0].find("30.0 calls/s"), std::string::npos) << small[0];
    EXPECT_NE(small[0].find("7 connections"), std::string::npos) << small[0];
    EXPECT_EQ(small[3].find("fast"), 0u) << small[3];
    EXPECT_EQ(small[4].find("slow"), 0u) << small[4];
    EXPECT_NE(small[3].find("20.0"), std::string::npos) << small[3];
    const auto by_name = draw(later, rows, history, "a", {Tab::rpcs, Order::name, 200, 60});
    EXPECT_EQ(by_name[3].find("fast"), 0u);
    EXPECT_NE(by_name.back().find("s sort (name)"), std::string::npos) << by_name.back();
}

TEST(Screen, SaysInPlaceThatTheNodeDoesNotAnswer) {
    History history;
    const auto lines = draw(busy(), {}, history, "tcp://a:1", {Tab::rpcs, Order::rate, 80, 24, "no answer: timed out"});
    EXPECT_EQ(lines.at(1).find("tcp://a:1: no answer: timed out"), 0u) << lines.at(1);
}

TEST(Screen, TheOldestCallIsFirstWithItsReason) {
    History history;
    State state = state_at(0, {});
    state.calls = {waiting("young", rpc::CallPhase::sent, 10), waiting("old", rpc::CallPhase::connecting, 5'000'000)};
    const auto lines = draw(state, {}, history, "a", {Tab::calls, Order::rate, 120, 24});
    EXPECT_EQ(lines[3].find("old"), 0u);
    EXPECT_NE(lines[3].find("connecting: the peer does not answer the dial"), std::string::npos) << lines[3];
    EXPECT_EQ(lines[4].find("young"), 0u);
}

TEST(Sparkline, HasTheLastValuesAsHeights) {
    EXPECT_EQ(sparkline({}, 5), "");
    EXPECT_EQ(sparkline({0, 0}, 5), "\u2581\u2581");
    EXPECT_EQ(sparkline({9, 0, 7, 3.5}, 3), "\u2581\u2588\u2585");
}

TEST(Fit, CountsCharactersAndMarksWhatIsCut) {
    EXPECT_EQ(fit("ab", 4), "ab  ");
    EXPECT_EQ(fit("abcdef", 4), "abc~");
    EXPECT_EQ(fit("\u2581\u2582\u2583", 3), "\u2581\u2582\u2583");
    EXPECT_EQ(fit("\u2581\u2582\u2583\u2584", 3), "\u2581\u2582~");
    EXPECT_EQ(fit("abc", 0), "");
}

}  // namespace
}  // namespace cinnabar::tools::watch
