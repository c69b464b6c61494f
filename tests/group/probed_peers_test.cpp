// SPDX-License-Identifier: BSD-3-Clause
// Which of the peers that were probed are let go.
#include "probed_peers.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace cinnabar::test {
namespace {

using group::probed_max;
using group::ProbedPeers;

constexpr Microseconds idle_span{100};

na::Addr probed_peer(std::size_t number) {
    return na::Addr::parse("tcp://127.0.0.1:" + std::to_string(1 + number)).value();
}

TEST(probed_peers, those_probed_longest_ago_are_let_go_once_they_are_idle) {
    ProbedPeers peers;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(peers.note(probed_peer(i), 3, idle_span, 1000 + i).empty());
    EXPECT_TRUE(peers.note(probed_peer(0), 3, idle_span, 1010).empty()) << "it is among the three already";
    EXPECT_TRUE(peers.note(probed_peer(3), 3, idle_span, 1100).empty()) << "the first may not have answered yet";
    EXPECT_EQ(peers.note(probed_peer(4), 3, idle_span, 1102), (std::vector{probed_peer(1), probed_peer(2)}));
    EXPECT_EQ(peers.size(), 3u);
    EXPECT_EQ(peers.note(probed_peer(5), 3, idle_span, 1110), (std::vector{probed_peer(0)}));
    EXPECT_TRUE(peers.note(probed_peer(6), 3, idle_span, 1120).empty());
    EXPECT_TRUE(peers.let_go(3, idle_span, 1199).empty());
    EXPECT_EQ(peers.let_go(3, idle_span, 1200), (std::vector{probed_peer(3)})) << "although no other one is probed";
}

TEST(probed_peers, are_256_at_most) {
    ProbedPeers peers;
    std::size_t done = 0;
    for (std::size_t i = 0; i < 1000; ++i) done += peers.note(probed_peer(i), 3, idle_span, 1000).size();
    EXPECT_EQ(peers.size(), ProbedPeers::peers_max);
    EXPECT_EQ(done, 1000 - ProbedPeers::peers_max);
}

TEST(probed_peers, all_members_of_a_small_group_are_kept_and_a_fifth_of_the_limit_of_a_large_one) {
    EXPECT_GE(probed_max(64, 33), 32u) << "32 others, in both directions";
    EXPECT_EQ(probed_max(64, 34), 12u);
    EXPECT_EQ(probed_max(64, 1000), 12u);
    EXPECT_EQ(probed_max(0, 1000), 1u);
    EXPECT_EQ(probed_max(0, 1), 1u) << "one that it is probing";
    EXPECT_EQ(probed_max(1'000'000, 1000), 1000u + 256) << "those of 256 former processes among them";
}

}  // namespace
}  // namespace cinnabar::test
