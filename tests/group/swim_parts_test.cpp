// SPDX-License-Identifier: BSD-3-Clause
// The parts of the protocol, each by itself.
#include "swim/change_log.hpp"
#include "swim/gone_ranks.hpp"
#include "swim/gossip.hpp"
#include "swim/local_health.hpp"
#include "swim/probe_targets.hpp"
#include "swim/relayed_pings.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cinnabar::test {
namespace {

using group::ChangeLog;
using group::Entry;
using group::Happened;
using group::LocalHealth;
using group::no_rank;
using group::ProbeTargets;
using group::Rank;
using group::RelayedPings;
using group::State;
using group::Table;

Table table_of(Rank members) {
    Table table;
    for (Rank rank = 0; rank < members; ++rank) table.put(rank, {1, 0, State::alive, 100 + rank, {}});
    return table;
}

TEST(local_health, a_slow_member_waits_longer_up_to_a_bound_and_recovers_step_by_step) {
    LocalHealth health(3);
    EXPECT_EQ(health.stretched(Microseconds(10)), 10u);
    health.improve();
    EXPECT_EQ(health.score(), 0u);
    health.worsen(2);
    EXPECT_EQ(health.stretched(Microseconds(10)), 30u);
    health.worsen(2);
    EXPECT_EQ(health.score(), 3u);
    health.improve();
    EXPECT_EQ(health.score(), 2u);
}

TEST(probe_targets, each_member_is_pinged_once_in_a_round_and_this_one_never) {
    const Table table = table_of(20);
    Random random(1);
    ProbeTargets targets(7);
    std::set<Rank> pinged;
    for (int i = 0; i < 19; ++i) pinged.insert(targets.next(table, random));
    EXPECT_EQ(pinged.size(), 19u);
    EXPECT_FALSE(pinged.contains(7));
    ProbeTargets alone(0);
    EXPECT_EQ(alone.next(table_of(1), random), no_rank);
}

TEST(probe_targets, sixteen_that_are_doubted_are_pinged_first) {
    Table table = table_of(100);
    Random random(2);
    ProbeTargets targets(0);
    for (Rank rank = 99; rank > 50; --rank) targets.doubt(table, rank);
    targets.doubt(table, 99);
    table.put(98, {1, 0, State::left, 198, {}});
    EXPECT_EQ(targets.next(table, random), 99u);
    for (Rank rank = 97; rank > 99 - ProbeTargets::doubts_max; --rank) EXPECT_EQ(targets.next(table, random), rank);
    targets.doubt(table, 3);
    EXPECT_EQ(targets.next(table, random), 3u) << "the others were not kept";
}

TEST(probe_targets, helpers_are_others_and_each_is_asked_once) {
    const Table table = table_of(4);
    Random random(3);
    const ProbeTargets targets(0);
    for (int i = 0; i < 50; ++i) {
        const std::vector<Rank> helpers = targets.helpers(table, 1, 5, random);
        const std::set<Rank> different(helpers.begin(), helpers.end());
        EXPECT_EQ(different.size(), helpers.size());
        for (const Rank rank : helpers) EXPECT_GT(rank, 1u);
    }
}

TEST(probe_targets, helpers_are_found_among_many_ranks_that_are_gone) {
    Table table;
    for (Rank rank = 0; rank < 5000; ++rank) {
        const bool there = rank == 0 || rank % 1000 == 500;
        table.put(rank, {1, 0, there ? State::alive : State::left, 100 + rank, {}});
    }
    Random random(5);
    const ProbeTargets targets(0);
    for (int i = 0; i < 50; ++i) {
        const std::vector<Rank> helpers = targets.helpers(table, 500, 3, random);
        EXPECT_EQ(std::set<Rank>(helpers.begin(), helpers.end()).size(), 3u);
    }
    EXPECT_EQ(targets.helpers(table, 500, 9, random).size(), 4u) << "there are no more";
}

TEST(probe_targets, only_members_that_are_excluded_still_are_tried_again) {
    Random random(4);
    ProbeTargets targets(0);
    EXPECT_EQ(targets.excluded(random), no_rank);
    const Entry alive{1, 0, State::alive, 5, {}};
    const Entry excluded{1, 0, State::excluded, 5, {}};
    targets.note(3, alive, excluded);
    EXPECT_EQ(targets.excluded(random), 3u);
    targets.note(3, excluded, {2, 0, State::alive, 5, {}});
    EXPECT_EQ(targets.excluded(random), no_rank);
}

TEST(gone_ranks, the_one_that_is_gone_for_longest_is_given_again_first) {
    const Entry alive{1, 0, State::alive, 5, {}};
    const Entry left{1, 0, State::left, 5, {}};
    group::GoneRanks gone;
    gone.note(3, alive, left, 100);
    EXPECT_EQ(gone.longest(0, 10'000), no_rank) << "nobody asked for it";
    gone.give_again_after(Microseconds(50));
    gone.note(4, alive, left, 100);
    gone.note(2, alive, left, 120);
    gone.note(6, {}, alive, 120);
    EXPECT_EQ(gone.longest(0, 149), no_rank);
    EXPECT_EQ(gone.longest(0, 150), 4u);
    EXPECT_EQ(gone.longest(5, 1000), no_rank) << "not below the first";
    gone.note(4, left, left, 500);
    EXPECT_EQ(gone.longest(0, 510), 4u);
    gone.note(4, left, {group::first_life_of(1), 0, State::alive, 6, {}}, 600);
    EXPECT_EQ(gone.longest(0, 1000), 2u);
}

TEST(gone_ranks, the_time_in_which_this_process_was_stopped_does_not_count) {
    const Entry alive{1, 0, State::alive, 5, {}};
    const Entry left{1, 0, State::left, 5, {}};
    group::GoneRanks gone;
    gone.give_again_after(Microseconds(50));
    gone.note(2, alive, left, 100);
    gone.pass_over(120, 1000, Microseconds(10));
    EXPECT_EQ(gone.longest(0, 1029), no_rank) << "20 before it and 29 after it";
    EXPECT_EQ(gone.longest(0, 1030), 2u);
    gone.pass_over(1100, 1101, Microseconds(10));
    EXPECT_EQ(gone.longest(0, 1110), no_rank) << "it may not have heard yet who has the rank now";
    EXPECT_EQ(gone.longest(0, 1111), 2u);
}

TEST(gone_ranks, a_rank_whose_lives_are_used_up_is_not_given_again) {
    group::GoneRanks gone;
    gone.give_again_after(Microseconds(50));
    gone.note(9, {}, {group::incarnation_max - 10, 0, State::excluded, 5, {}}, 0);
    EXPECT_EQ(gone.longest(0, 1000), no_rank);
    EXPECT_EQ(group::holder_of(group::first_life_of(7)), 7u);
    EXPECT_EQ(group::holder_of(group::first_life_of(7) - 1), 6u);
}

TEST(gossip, labels_count_by_their_bytes) {
    const auto taken_with = [](std::size_t labels, std::size_t bytes) {
        group::Labels all;
        for (std::size_t i = 0; i < labels; ++i) all["label" + std::to_string(i)].assign(bytes, 'x');
        const group::Profile profile(na::Addr::parse("tcp://127.0.0.1:1").value(), all);
        Table table;
        group::Gossip gossip;
        for (Rank rank = 0; rank < 8; ++rank) {
            table.put(rank, {1, 0, State::alive, 1, profile});
            gossip.add(rank, 1, true);
        }
        std::vector<group::Claim> taken;
        gossip.take(table, taken, 8, 2048, 9);
        return taken.size();
    };
    EXPECT_EQ(taken_with(4, 1), 8u);
    EXPECT_EQ(taken_with(1, 1000), 1u);
}

// The ranks that the next message tells of, four at most, each three times.
std::vector<Rank> told_next(group::Gossip& gossip, const Table& table) {
    std::vector<group::Claim> claims;
    gossip.take(table, claims, 4, 2048, 3);
    std::vector<Rank> ranks;
    for (const group::Claim& claim : claims) ranks.push_back(claim.rank);
    return ranks;
}

TEST(gossip, what_was_told_least_often_is_told_first_and_of_these_what_was_added_first) {
    const Table table = table_of(20);
    group::Gossip gossip;
    for (const Rank rank : {5u, 9u, 2u, 7u, 1u, 12u}) gossip.add(rank, 1, false);
    EXPECT_EQ(told_next(gossip, table), (std::vector<Rank>{5, 9, 2, 7}));
    EXPECT_EQ(told_next(gossip, table), (std::vector<Rank>{1, 12, 5, 9}));
    gossip.add(9, 1, false);  // anew
    gossip.drop(7);
    gossip.drop(3);  // is not there
    EXPECT_EQ(told_next(gossip, table), (std::vector<Rank>{9, 2, 1, 12}));
    EXPECT_EQ(gossip.size(), 5u);
    EXPECT_EQ(told_next(gossip, table), (std::vector<Rank>{9, 5, 2, 1})) << "5, 2 and 1 for the third time";
    EXPECT_EQ(gossip.size(), 2u);
    EXPECT_EQ(told_next(gossip, table), (std::vector<Rank>{12, 9}));
    EXPECT_TRUE(told_next(gossip, table).empty());
    EXPECT_EQ(gossip.size(), 0u);
}

TEST(gossip, tells_what_the_table_says_and_by_whom_a_member_is_suspected) {
    const group::Profile profile(na::Addr::parse("tcp://127.0.0.1:1").value(), {});
    Table table;
    group::Gossip gossip;
    const auto told = [&] {
        std::vector<group::Claim> claims;
        gossip.take(table, claims, 1, 2048, 9);
        return claims.at(0);
    };
    table.put(3, {1, 0, State::alive, 5, profile});
    gossip.add(3, 1, true);
    EXPECT_EQ(told().profile, profile);
    table.put(3, {1, 2, State::suspect, 5, profile});
    gossip.add(3, 1, false, 8);
    EXPECT_EQ(told().state, State::suspect);
    EXPECT_EQ(told().refutation, 2u);
    EXPECT_EQ(told().by, 8u);
    EXPECT_EQ(told().profile, profile) << "not all may have it";
    table.put(3, {2, 0, State::excluded, 5, profile});
    gossip.add(3, 2, false);
    EXPECT_EQ(told().incarnation, 2u);
    EXPECT_EQ(told().by, no_rank);
    EXPECT_FALSE(told().profile);
}

TEST(relayed_pings, one_origin_has_four_and_all_have_sixty_four) {
    RelayedPings pings;
    std::size_t added = 0;
    for (Rank origin = 0; origin < 100; ++origin) {
        for (; pings.has_room_for(origin); ++added) pings.add({origin, 1, 200, 1, 10, 20});
        if (origin == 0) {
            EXPECT_EQ(added, 4u);
        }
    }
    EXPECT_EQ(added, RelayedPings::pings_max);
}

TEST(relayed_pings, an_answer_is_passed_on_once_and_not_when_it_is_late) {
    RelayedPings pings;
    pings.add({1, 71, 5, 8, 10, 20});
    pings.add({2, 72, 6, 9, 10, 20});
    EXPECT_EQ(pings.next_due_us(), 10u);
    EXPECT_FALSE(pings.take_answered(6, 8, 5)) << "another member's answer";
    EXPECT_EQ(pings.take_answered(5, 8, 5)->origin_sequence, 71u);
    EXPECT_FALSE(pings.take_answered(5, 8, 5));
    ASSERT_EQ(pings.take_unanswered(10).size(), 1u);
    EXPECT_TRUE(pings.take_unanswered(11).empty()) << "each is told of once";
    EXPECT_EQ(pings.next_due_us(), 20u);
    EXPECT_FALSE(pings.take_answered(6, 9, 20));
    EXPECT_TRUE(pings.take_unanswered(20).empty());
    EXPECT_EQ(pings.next_due_us(), time_never) << "it has ended";
}

TEST(change_log, readers_hear_of_what_they_can_see) {
    const Entry alive{1, 0, State::alive, 5, {}};
    const Entry suspect{1, 0, State::suspect, 5, {}};
    const Entry again{2, 0, State::alive, 5, {}};
    ChangeLog log;
    log.note(3, {}, alive);
    log.note(3, alive, suspect);
    log.note(3, suspect, suspect);
    log.note(3, suspect, {1, 1, State::alive, 5, {}});
    log.note(3, alive, {1, 2, State::alive, 5, {}});
    log.note(3, alive, {1, 0, State::excluded, 5, {}});
    log.note(3, {1, 0, State::excluded, 5, {}}, again);
    log.note(3, again, {2, 0, State::left, 5, {}});
    std::vector<Happened> happened;
    for (const group::Change& change : log.take()) happened.push_back(change.happened);
    EXPECT_EQ(happened, (std::vector{Happened::joined, Happened::suspected, Happened::trusted, Happened::excluded,
                                     Happened::joined, Happened::left}));
    EXPECT_TRUE(log.take().empty());
}

}  // namespace
}  // namespace cinnabar::test
