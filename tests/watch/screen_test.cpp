// SPDX-License-Identifier: BSD-3-Clause
#include "watch/screen.hpp"

#include "watch/sparkline.hpp"
#include "watch/states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

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
    for (int i = 0; i < 100; ++i) add_pool(state, std::string(30, 'p') + std::to_string(i), {4, 1, {1, 2, 3}});
    state.rpcs.push_back(timed("timed", 7, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
    state.node.contexts.resize(64);
    for (int i = 0; i < 32; ++i) state.node.lines.push_back({5'000'000, "warning", "tcp", std::string(255, 'x')});
    return state;
}

constexpr std::array all_tabs{Tab::rpcs, Tab::peers, Tab::calls, Tab::time, Tab::pools, Tab::memory, Tab::log};
static_assert(all_tabs.size() == tab_names.size());

bool has(const std::vector<std::string>& lines, const std::string& text) {
    return std::ranges::any_of(lines, [&](const auto& line) { return line.find(text) != line.npos; });
}
std::string all_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + '\n';
    return text;
}

TEST(Screen, FillsWhatThereIsAndNoMore) {
    const State state = busy();
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{80, 24}, {200, 60}, {30, 6}, {8, 3}}) {
        for (const Tab tab : all_tabs) {
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

// One RPC is first by its rate, one by its p99, one by its failures and one by its name; the first of the state is none
// of these.
TEST(Screen, EachOrderPutsAnotherRpcFirst) {
    History history;
    look::RpcReport slow = served("slow", 10);
    slow.serve_time.assign(14, 0);
    slow.serve_time.back() = 10;
    (void)history.take(state_at(0, {}));
    const State state =
        state_at(1, {served("middle", 20, 1), served("often", 100), slow, served("fails", 5, 5), served("a", 1)});
    const auto rows = history.take(state);
    const auto first = [&](Order order, std::size_t width, std::size_t height) {
        const std::string line = draw(state, rows, history, "a", {Tab::rpcs, order, width, height})[3];
        return line.substr(0, line.find(' '));
    };
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{80, 24}, {200, 60}}) {
        EXPECT_EQ(first(Order::rate, width, height), "often");
        EXPECT_EQ(first(Order::p99, width, height), "slow");
        EXPECT_EQ(first(Order::failed, width, height), "fails");
        EXPECT_EQ(first(Order::name, width, height), "a");
    }
}

TEST(Screen, PeersAreSortedByNameWhenRpcsAreAndOtherwiseByLoad) {
    History history;
    State state = state_at(0, {});
    state.peers = {connected("tcp://b"), connected("tcp://c"), connected("tcp://a")};
    state.peers[0].requests = 1;
    state.peers[1].requests = 1;
    state.peers[1].calls_sent = 1;
    state.peers[1].calls_queued = 1;
    const auto names = [&](Order order) {
        const auto lines = draw(state, {}, history, "a", {Tab::peers, order, 80, 24});
        return std::string{lines[3].at(6), lines[4].at(6), lines[5].at(6)};
    };
    for (const Order order : {Order::rate, Order::p99, Order::failed}) EXPECT_EQ(names(order), "cba");
    EXPECT_EQ(names(Order::name), "abc");
}

TEST(Screen, ShowsTheLastRatesOfAnRpcAsALine) {
    History history;
    (void)history.take(state_at(0, {served("rises", 0)}));
    (void)history.take(state_at(1, {served("rises", 10)}));
    const State state = state_at(2, {served("rises", 30)});
    const auto rows = history.take(state);
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{80, 24}, {200, 60}}) {
        const std::string line = draw(state, rows, history, "a", {Tab::rpcs, Order::rate, width, height})[3];
        EXPECT_EQ(line.find("rises"), 0u) << line;
        EXPECT_NE(line.find("\u2585\u2588"), std::string::npos) << "10/s, then 20/s: " << line;
    }
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

TEST(Screen, AllKeysFitInEightyColumns) {
    History history;
    for (const Order order : {Order::rate, Order::p99, Order::failed, Order::name}) {
        const auto keys = draw(busy(), {}, history, "a", {Tab::rpcs, order, 80, 24}).back();
        for (const std::string key :
             {"r RPCs", "p peers", "c calls", "w time", "t pools", "m memory", "l log", "s sort", "q quit"})
            EXPECT_NE(keys.find(key), std::string::npos) << key << ": " << keys;
    }
}

TEST(Screen, ShowsWhereTheTimeOfCallsGoes) {
    History history;
    State state = state_at(0, {timed("slow", 2, {0, 0, 0, 1'000, 0, 6'000'000, 0, 1'000, 0}), served("quick", 9)});
    state.calls = {waiting("slow", rpc::CallPhase::waits_for_credit, 3'000'000),
                   waiting("slow", rpc::CallPhase::waits_for_credit, 5'000'000),
                   waiting("slow", rpc::CallPhase::sent, 1'000)};
    const auto lines = draw(state, history.take(state), history, "a", {Tab::time, Order::rate, 80, 24});
    EXPECT_EQ(lines[3].find("slow"), 0u) << lines[3];
    EXPECT_NE(lines[3].find("     2   5.00 s waiting for a credit"), std::string::npos) << lines[3];
    EXPECT_NE(lines[4].find("     1  1.00 ms waiting for the answer"), std::string::npos) << lines[4];
    EXPECT_EQ(lines[6].find("mean time of calls"), 0u) << lines[6];
    EXPECT_NE(lines[7].find("1.00 ms        -   3.00 s"), std::string::npos) << lines[7];
    EXPECT_EQ(lines[8].find("quick"), 0u) << "of what it serves, the time of the handler: " << lines[8];
    EXPECT_NE(lines[8].find("in         9        -        -        -  3.50 us        -"), std::string::npos)
        << lines[8];
    const auto wide = draw(state, history.take(state), history, "a", {Tab::time, Order::rate, 200, 60});
    EXPECT_TRUE(has(wide, "in the handler 100 %")) << all_of(wide);
    EXPECT_TRUE(has(wide, " connect   credit  to send    there  waiting  handler     bulk     back   caller"))
        << all_of(wide);
}

TEST(Screen, CallsInProgressLeaveRoomForTheTimesOfThoseThatEnded) {
    History history;
    State state = state_at(0, {timed("ended", 2, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
    for (int i = 0; i < 100; ++i)
        state.calls.push_back(waiting("rpc-" + std::to_string(i), rpc::CallPhase::sent, 1'000));
    EXPECT_TRUE(has(draw(state, history.take(state), history, "a", {Tab::time, Order::rate, 80, 24}), "ended"));
}

TEST(Screen, ShowsFailedCallsAboveTheLog) {
    History history;
    State state = state_at(0, {});
    state.node.lines.push_back({5'000'000, "warning", "tcp", "a line"});
    for (int i = 0; i < 100; ++i)
        state.node.failures.push_back(failure("rare-" + std::to_string(i), rpc::CallPhase::sent, Errc::peer_lost, 1));
    state.node.failures.push_back(failure("store", rpc::CallPhase::waits_for_credit, Errc::timed_out, 9));
    const auto lines = draw(state, history.take(state), history, "a", {Tab::log, Order::rate, 80, 24});
    EXPECT_EQ(lines[2].find("failed calls"), 0u) << lines[2];
    EXPECT_EQ(lines[3].find("store"), 0u) << lines[3];
    EXPECT_NE(lines[3].find("        9 timed out        waiting for a credit"), std::string::npos) << lines[3];
    EXPECT_TRUE(has(lines, "a line")) << all_of(lines);
}

TEST(Screen, ShowsWhatThePoolsDo) {
    History history;
    State state = state_at(0, {});
    add_pool(state, "disk", {4, 2, {11, 22, 33}});
    state.node.pools.push_back({"of an earlier version", 1, 5, 9});
    state.node.contexts[1].completions = 77;
    const auto lines = draw(state, {}, history, "a", {Tab::pools, Order::rate, 80, 24});
    EXPECT_EQ(lines[2].find("pool"), 0u) << lines[2];
    EXPECT_EQ(lines[3].find("disk"), 0u) << lines[3];
    EXPECT_NE(lines[3].find("      4       4       2     11     22     33      66     100"), std::string::npos)
        << lines[3];
    EXPECT_NE(lines[4].find("      1       -       -      -      -      -       5       9"), std::string::npos)
        << lines[4];
    EXPECT_TRUE(has(lines, "      77")) << all_of(lines);
    const auto none = draw(state_at(0, {}), {}, history, "a", {Tab::pools, Order::rate, 80, 24});
    EXPECT_TRUE(has(none, "none: all handlers run on the threads of the contexts")) << all_of(none);
}

TEST(Screen, ShowsMemoryWithItsLimitsAndLeases) {
    History history;
    State state = state_at(0, {});
    state.node.buffer_bytes = 2'000'000;
    state.node.buffer_bytes_max = 256'000'000;
    state.node.contexts[0].leases = 12;
    state.node.contexts[0].quarantined = 3;
    state.node.contexts[0].decoded_bytes = 7'000;
    state.node.shares = 5;
    state.node.transports = {{"ofi+tcp;ofi_rxm", {}, "on lo"}, {"shm", {}, "sockets in a folder"}};
    const auto lines = draw(state, {}, history, "a", {Tab::memory, Order::rate, 80, 24});
    EXPECT_TRUE(has(lines, "2.00 MB     256 MB")) << all_of(lines);
    EXPECT_TRUE(has(lines, "7.00 kB          -")) << "a limit that the node does not tell: " << all_of(lines);
    EXPECT_TRUE(has(lines, "5 memories are shared by tokens")) << all_of(lines);
    EXPECT_TRUE(has(lines, "     12           3         0")) << all_of(lines);
    EXPECT_TRUE(has(lines, "ofi+tcp;ofi_rxm  on lo")) << all_of(lines);
    EXPECT_TRUE(has(lines, "shm              sockets in a folder")) << all_of(lines);
}

TEST(Screen, ShowsWhatPeersSendAndReceive) {
    History history;
    State state = state_at(0, {});
    state.peers = {connected("tcp://10.0.0.7:1")};
    (void)history.take(state);
    EXPECT_EQ(draw(state, {}, history, "a", {Tab::peers, Order::rate, 80, 24})[3].find("tcp://10.0.0"), 0u);
    state.traffic = {{1'000'000, 2'000'000}};
    (void)history.take(state);
    State later = state_at(2, {});
    later.peers = state.peers;
    later.traffic = {{2'000'000, 5'000'000}};
    (void)history.take(later);
    const std::string narrow = draw(later, {}, history, "a", {Tab::peers, Order::rate, 80, 24})[3];
    EXPECT_NE(narrow.find("2.00 MB"), std::string::npos) << "4 MB in 2 s: " << narrow;
    EXPECT_NE(narrow.find("\u2588"), std::string::npos) << narrow;
    const std::string wide = draw(later, {}, history, "a", {Tab::peers, Order::rate, 200, 60})[3];
    EXPECT_NE(wide.find("tcp://10.0.0.7:1"), std::string::npos) << wide;
    EXPECT_NE(wide.find("5.00 MB"), std::string::npos) << wide;
    EXPECT_TRUE(has(plain_lines(later, {}, history, Tab::peers), "5.00 MB"));
}

TEST(Screen, OfBytesThatNoPeerCanSendThereIsNoRate) {
    History history;
    State state = state_at(0, {});
    state.peers = {connected("tcp://10.0.0.7:1")};
    state.traffic = {{0, 0}};
    (void)history.take(state);
    State later = state_at(1, {});
    later.peers = state.peers;
    later.traffic = {{~std::uint64_t{0}, 0}};  // a node may send any number
    (void)history.take(later);
    const std::string line = draw(later, {}, history, "a", {Tab::peers, Order::rate, 80, 24})[3];
    EXPECT_EQ(line.find(" B"), std::string::npos) << line;
    EXPECT_EQ(line.find("B/s"), std::string::npos) << line;
}

TEST(PlainLines, AreAsWideAsTheyNeedAndShowAllRows) {
    History history;
    const State state = busy();
    for (const Tab tab : all_tabs) {
        const auto lines = plain_lines(state, history.take(state), history, tab);
        EXPECT_GE(lines.size(), 4u);
        for (const auto& line : lines) EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    EXPECT_EQ(plain_lines(state, {}, history, Tab::peers).size(), 101u);
    EXPECT_TRUE(has(plain_lines(state, history.take(state), history, Tab::rpcs), std::string(300, 'n')));
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
