// SPDX-License-Identifier: BSD-3-Clause
// The arrangement of members in a tree.
#include "tree.hpp"

#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>

namespace cinnabar::test {
namespace {

using group::branches_of;
using group::HolderRun;
using group::Rank;
using group::Shape;
using group::Tree;

// Visits all members. Returns the longest chain of messages until the last member is reached, if each member sends one
// message at a time.
std::size_t longest_path(const std::vector<Rank>& ranks, Shape shape, std::vector<Rank>& seen) {
    std::size_t longest = 0;
    std::size_t sent = 0;
    for (const auto& branch : branches_of(ranks, shape)) {
        seen.push_back(branch.child);
        longest = std::max(longest, ++sent + longest_path(branch.below, shape, seen));
    }
    return longest;
}

// The most runs by which a call names the ranks below a member.
std::size_t most_runs(const std::vector<Rank>& ranks, Shape shape) {
    std::size_t most = group::runs_of(ranks).size();
    for (const auto& branch : branches_of(ranks, shape)) most = std::max(most, most_runs(branch.below, shape));
    return most;
}

std::vector<Rank> ranks_up_to(std::size_t count) {
    std::vector<Rank> ranks(count);
    std::iota(ranks.begin(), ranks.end(), 1);
    return ranks;
}

TEST(tree, each_rank_is_in_it_once_whatever_its_shape) {
    for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        const auto ranks = ranks_up_to(random.below(500));
        for (const Tree tree : {Tree::flat, Tree::k_ary, Tree::k_nomial}) {
            std::vector<Rank> seen;
            (void)longest_path(ranks, {tree, static_cast<unsigned>(2 + random.below(63))}, seen);
            std::sort(seen.begin(), seen.end());
            ASSERT_EQ(seen, ranks);
        }
    });
}

TEST(tree, a_k_nomial_tree_is_as_deep_as_the_logarithm) {
    std::vector<Rank> seen;
    EXPECT_LE(longest_path(ranks_up_to(99), {Tree::k_nomial, 2}, seen), 7u);
    EXPECT_LE(longest_path(ranks_up_to(999), {Tree::k_nomial, 2}, seen), 10u);
    EXPECT_LE(longest_path(ranks_up_to(99'999), {Tree::k_nomial, 2}, seen), 17u);
    EXPECT_LE(longest_path(ranks_up_to(99'999), {Tree::k_nomial, 4}, seen), 27u);
}

// What `./dev curves` shows of a call by a member in the middle of all ranks: messages on the longest path. Each
// message has two runs at most, so its size does not depend on the number of members.
TEST(tree, curves) {
    for (const std::size_t members : {100u, 1'000u, 10'000u, 100'000u}) {
        std::vector<Rank> ranks = ranks_up_to(members - 1);
        for (Rank& rank : ranks) rank -= rank <= members / 2 ? 1u : 0u;
        std::cout << "path: " << members;
        for (const unsigned fanout : {2u, 4u}) {
            const Shape shape{Tree::k_nomial, fanout};
            std::vector<Rank> seen;
            std::cout << " | " << longest_path(ranks, shape, seen);
            EXPECT_EQ(seen.size(), members - 1);
            EXPECT_LE(most_runs(ranks, shape), 2u);
        }
        std::cout << " |\n";
    }
}

TEST(tree, automatic_is_flat_for_few_and_narrow_for_large_arguments) {
    EXPECT_EQ(group::shape_for(Tree::automatic, 0, 8, 10).tree, Tree::flat);
    EXPECT_EQ(group::shape_for(Tree::automatic, 0, 9, 10).fanout, 4u);
    EXPECT_EQ(group::shape_for(Tree::automatic, 0, 9, 100'000).fanout, 2u);
    EXPECT_EQ(group::shape_for(Tree::k_ary, 1000, 9, 10).fanout, 64u);
}

TEST(tree, runs_hold_what_they_were_made_of_and_hostile_ones_are_refused) {
    const std::vector<Rank> ranks{5, 6, 7, 1, 2, 9};
    const auto runs = group::runs_of(ranks);
    EXPECT_EQ(runs.size(), 3u);
    EXPECT_EQ(group::ranks_of(runs, 6), ranks);
    EXPECT_FALSE(group::ranks_of(runs, 5)) << "too many";
    EXPECT_FALSE(group::ranks_of(std::vector<group::RankRun>{{0, 0xffffffffu}}, 1000));
    EXPECT_FALSE(group::ranks_of(std::vector<group::RankRun>{{1, 2}, {2, 1}}, 1000)) << "2 comes twice";
    EXPECT_FALSE(group::ranks_of(std::vector<group::RankRun>{{0xfffffffeu, 10}}, 1000));
}

TEST(tree, holders_are_found_in_their_runs_and_unordered_runs_are_refused) {
    const std::vector<std::uint32_t> holders{0, 0, 1, 1, 1, 2, 2, 1, 2, 2, 0};
    std::vector<HolderRun> runs;
    for (Rank rank = 0; rank < holders.size(); ++rank) group::add_holder(runs, rank, holders[rank]);
    EXPECT_EQ(runs.size(), 4u);
    EXPECT_TRUE(group::is_ascending(runs));
    for (Rank rank = 0; rank < holders.size(); ++rank) EXPECT_EQ(group::holder_in(runs, rank), holders[rank]);
    EXPECT_EQ(group::holder_in(runs, 77), 0u);
    EXPECT_EQ(group::holder_in({}, 3), 0u);
    const std::vector<HolderRun> overlapping{{1, 3, 1}, {3, 1, 2}};
    const std::vector<HolderRun> endless{{5, ~0u, 1}, {9, 1, 2}};
    EXPECT_FALSE(group::is_ascending(overlapping));
    EXPECT_FALSE(group::is_ascending(endless));
}

}  // namespace
}  // namespace cinnabar::test
