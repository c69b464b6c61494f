// SPDX-License-Identifier: BSD-3-Clause
// Failure detection without a network: many members, one thread, one seed.
#include "profile_at.hpp"
#include "support/log_watch.hpp"
#include "support/seeds.hpp"
#include "swim_death.hpp"
#include "swim_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cinnabar::test {
namespace {

using group::Change;
using group::Claim;
using group::Happened;
using group::Rank;
using group::State;
using group::Swim;
using group::SwimOptions;

TEST(swim, a_death_is_heard_of_by_all_within_the_stated_time) {
    for_each_seed(
        [](std::uint64_t seed) {
            SwimWorld world(100, {}, {.loss_per_mille = 10}, seed);
            std::size_t wronged = 0;
            world.run_for(5 * period_us);
            const Death death = kill_one(world, 60 * period_us, wronged);
            EXPECT_EQ(death.excluded_at, 99u);
            EXPECT_EQ(wronged, 0u);
            EXPECT_LT(death.first_suspicion, 10);
            EXPECT_LT(death.last_exclusion, 50);
            EXPECT_TRUE(world.all_views_equal());
        },
        10);
}

TEST(swim, slow_members_and_lost_messages_exclude_nobody_who_lives) {
    SwimWorld world(1000, {}, {.loss_per_mille = 10, .slow_per_cent = 5}, 1);
    std::size_t wronged = 0;
    const Death death = kill_one(world, 40 * period_us, wronged);
    EXPECT_EQ(wronged, 0u);
    EXPECT_LT(death.first_suspicion, 5);
    EXPECT_GE(death.excluded_at, 999u);
}

TEST(swim, a_member_whose_clock_stops_blames_nobody_and_comes_back) {
    for_each_seed(
        [](std::uint64_t seed) {
            SwimWorld world(20, {}, {}, seed);
            std::size_t wronged = 0;
            const Rank victim = world.random_rank();
            world.on_change = [&](Rank, const Change& change) {
                wronged += change.happened == Happened::excluded && change.rank != victim;
            };
            world.run_for(3 * period_us);
            world.stop_clock(victim, 60 * period_us);
            world.run_for(160 * period_us);
            EXPECT_EQ(wronged, 0u);
            EXPECT_TRUE(world.all_views_equal());
            EXPECT_EQ(world.member(victim).table().present(), 20u);
            EXPECT_EQ(world.member(victim).self().incarnation, 2u) << "it was excluded, and lives again";
        },
        10);
}

TEST(swim, halves_of_a_cut_group_exclude_each_other_and_come_together_again) {
    for_each_seed(
        [](std::uint64_t seed) {
            SwimWorld world(16, {}, {.loss_per_mille = 5}, seed);
            for (Rank rank = 0; rank < 16; ++rank) world.put_on_side(rank, rank < 5 ? 1 : 0);
            world.run_for(250 * period_us);
            EXPECT_EQ(world.member(0).table().present(), 5u);
            EXPECT_EQ(world.member(10).table().present(), 11u);
            for (Rank rank = 0; rank < 16; ++rank) world.put_on_side(rank, 0);
            world.run_for(300 * period_us);
            EXPECT_TRUE(world.all_views_equal());
            EXPECT_EQ(world.member(3).table().present(), 16u);
        },
        10);
}

TEST(swim, nearly_all_may_die_at_once_and_are_excluded) {
    SwimWorld world(200, {}, {.loss_per_mille = 10}, 11);
    world.run_for(5 * period_us);
    for (Rank rank = 5; rank < 200; ++rank) world.kill(rank);
    world.run_for(3000 * period_us);
    for (Rank rank = 0; rank < 5; ++rank) EXPECT_EQ(world.member(rank).table().present(), 5u);
}

TEST(swim, one_that_leaves_is_gone_at_once_and_is_not_called_dead) {
    SwimWorld world(50, {}, {}, 3);
    std::size_t left = 0;
    std::size_t excluded = 0;
    world.on_change = [&](Rank, const Change& change) {
        left += change.happened == Happened::left;
        excluded += change.happened == Happened::excluded;
    };
    world.run_for(2 * period_us);
    world.leave(7);
    world.run_for(period_us / 100);
    EXPECT_EQ(left, 49u) << "all others hear it from itself";
    EXPECT_EQ(excluded, 0u);
}

// How many messages a member sends to say that it leaves, and whether all hear of it.
std::size_t goodbyes_among(std::size_t members) {
    SwimWorld world(members, {}, {}, 3);
    std::size_t goodbyes = 0;
    world.run_for(2 * period_us);
    world.on_send = [&](const group::Message& message) { goodbyes += message.kind == group::Kind::sync_push; };
    world.leave(7);
    world.on_send = nullptr;
    world.run_for(60 * period_us);
    EXPECT_TRUE(world.all_views_equal());
    EXPECT_EQ(world.member(0).table().present(), members - 1);
    return goodbyes;
}

TEST(swim, one_that_leaves_a_large_group_tells_few_and_these_tell_the_rest) {
    EXPECT_EQ(goodbyes_among(65), 64u);
    EXPECT_EQ(goodbyes_among(200), 8u);
}

TEST(swim, one_that_leaves_a_large_group_is_called_dead_by_nobody) {
    for (const std::size_t members : {66u, 300u}) {
        SwimWorld world(members, {}, {}, 3);
        std::size_t left = 0;
        std::size_t excluded = 0;
        world.on_change = [&](Rank, const Change& change) {
            left += change.happened == Happened::left;
            excluded += change.happened == Happened::excluded;
        };
        world.run_for(2 * period_us);
        world.leave(7);
        world.run_for(60 * period_us);
        EXPECT_EQ(left, members - 1);
        EXPECT_EQ(excluded, 0u) << "by those that it did not tell itself";
    }
}

// What a member takes rank 1 for, which never answers, some time after it has heard these claims from rank 2.
State end_of_one_of_whom_is_said(const std::vector<Claim>& claims) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::alive, 8, here});
    known.put(2, {1, 0, State::alive, 9, here});
    TimeUs now = period_us;
    Swim swim({}, {1, 0, 1, 7, here}, known, 5, now);
    Swim::Outbox out;
    for (const Claim& claim : claims) {
        group::Message message{1, group::Kind::sync_push, 2, 1, 0};
        message.claims = {claim};
        swim.receive(message, now, out);
        EXPECT_TRUE(swim.table().at(1).present()) << "others may lie";
    }
    for (; now < 200 * period_us; now += period_us / 4) swim.tick(now, out);
    return swim.table().at(1).state;
}

TEST(swim, a_leave_of_which_others_tell_ends_as_one_unless_it_is_refuted) {
    const Claim left{1, 1, 0, State::left, 8, group::no_rank, {}};
    const Claim passed_on{1, 1, 0, State::suspect, 8, 1, {}};
    const Claim suspected{1, 1, 0, State::suspect, 8, 2, {}};
    const Claim refuted{1, 1, 1, State::alive, 8, group::no_rank, {}};
    EXPECT_EQ(end_of_one_of_whom_is_said({left}), State::left);
    EXPECT_EQ(end_of_one_of_whom_is_said({passed_on}), State::left);
    EXPECT_EQ(end_of_one_of_whom_is_said({suspected, passed_on}), State::left);
    EXPECT_EQ(end_of_one_of_whom_is_said({suspected}), State::excluded);
    EXPECT_EQ(end_of_one_of_whom_is_said({left, refuted}), State::excluded) << "it has died later";
    const Claim suspected_later{1, 1, 1, State::suspect, 8, 2, {}};
    EXPECT_EQ(end_of_one_of_whom_is_said({passed_on, suspected_later}), State::excluded) << "it had refuted that";
}

// Such as the members of some hosts: if each told those with the next ranks, half of them would tell only each other.
TEST(swim, those_that_leave_a_large_group_together_tell_members_that_stay) {
    constexpr Rank leaving = 100;
    SwimWorld world(200, {}, {}, 3);
    world.run_for(2 * period_us);
    std::vector<bool> tells_one_that_stays(leaving);
    world.on_send = [&](const group::Message& message) {
        if (message.kind == group::Kind::sync_push && message.from < leaving && message.to >= leaving)
            tells_one_that_stays[message.from] = true;
    };
    for (Rank rank = 0; rank < leaving; ++rank) world.leave(rank);
    world.on_send = nullptr;
    EXPECT_GE(std::count(tells_one_that_stays.begin(), tells_one_that_stays.end(), true), 90);
}

TEST(swim, a_member_that_joins_spreads_what_is_new_and_not_all_that_it_learns) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::alive, 8, here});
    Swim swim({}, {1, 0, 1, 7, here}, known, 5, period_us);
    for (Rank rank = 2; rank < 100; ++rank)
        swim.learn({rank, 1, 0, State::alive, 100 + rank, group::no_rank, here}, period_us);
    swim.hear({101, 1, 0, State::alive, 301, group::no_rank, here}, period_us, false);
    EXPECT_EQ(swim.table().present(), 101u);
    Swim::Outbox out;
    group::Message message{1, group::Kind::sync_push, 1, 1, 0};
    message.claims = {Claim{100, 1, 0, State::alive, 300, group::no_rank, here}};
    swim.receive(message, period_us, out);
    swim.tick(2 * period_us, out);
    ASSERT_EQ(out.size(), 1u) << "a ping";
    std::vector<Rank> told;
    for (const Claim& claim : out[0].claims) told.push_back(claim.rank);
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, (std::vector<Rank>{0, 100}));
}

TEST(swim, one_that_begins_together_with_all_has_nothing_to_tell_and_probes_nobody_at_first) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    for (Rank rank = 0; rank < 4; ++rank) known.put(rank, {1, 0, State::alive, 7 + rank, here});
    Swim::Self self{1, 0, 1, 7, here};
    self.known_to_all = true;
    self.quiet = Microseconds(3 * period_us);
    TimeUs now = period_us;
    Swim swim({}, self, known, 5, now);
    EXPECT_EQ(swim.table().stamp(), known.stamp());
    Swim::Outbox out;
    for (; now < 4 * period_us; now += period_us / 4) swim.tick(now, out);
    EXPECT_TRUE(out.empty());
    for (; out.empty() && now < 6 * period_us; now += period_us / 4) swim.tick(now, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].kind, group::Kind::ping);
    EXPECT_TRUE(out[0].claims.empty());
    EXPECT_EQ(swim.health(), 0u);
}

TEST(swim, one_that_is_excluded_by_the_program_of_another_goes_although_it_answers) {
    for_each_seed(
        [](std::uint64_t seed) {
            SwimWorld world(30, {.rejoin = false}, {.loss_per_mille = 10}, seed);
            std::size_t excluded = 0;
            std::size_t wronged = 0;
            world.on_change = [&](Rank, const Change& change) {
                if (change.happened != Happened::excluded) return;
                (change.rank == 9 ? excluded : wronged) += 1;
            };
            world.on_send = [seed](group::Message& message) {
                const bool tells = message.kind == group::Kind::sync_push && message.from == 4 && message.to == 9;
                if (tells && seed % 2 != 0) message.claims.clear();  // as if it was lost
            };
            world.run_for(3 * period_us);
            world.exclude(4, 9);
            EXPECT_EQ(excluded, 1u) << "at once for the one that excludes it";
            world.run_for(120 * period_us);
            EXPECT_TRUE(world.member(9).displaced());
            EXPECT_EQ(excluded, 29u);
            EXPECT_EQ(wronged, 0u);
            EXPECT_TRUE(world.all_views_equal());
        },
        20);
}

TEST(swim, a_lie_excludes_nobody_who_can_answer) {
    SwimWorld world(30, {}, {}, 5);
    std::size_t gone = 0;
    std::size_t lies = 0;
    world.on_change = [&](Rank, const Change& change) {
        gone += change.happened == Happened::excluded || change.happened == Happened::left;
    };
    // Rank 4 keeps telling all others that 9 is dead and that 11 has left.
    world.on_send = [&](group::Message& message) {
        if (message.from != 4) return;
        message.claims = {Claim{9, 1, 0, State::excluded, 10, 4, {}}, Claim{11, 1, 0, State::left, 12, 4, {}}};
        ++lies;
    };
    world.run_for(60 * period_us);
    EXPECT_GT(lies, 50u);
    EXPECT_EQ(gone, 0u);
}

TEST(swim, claims_about_ranks_that_nobody_gave_out_take_no_memory) {
    SwimWorld world(10, {.members_max = 2000}, {}, 6);
    world.run_for(period_us);
    Swim& victim = world.member(0);
    Swim::Outbox out;
    group::Message message{1, group::Kind::sync_push, 1, 1, 0};
    for (Rank rank = 10; rank < 1'000'000; rank += 64) {
        message.claims.clear();
        for (Rank i = 0; i < 64; ++i) message.claims.push_back({rank + i, 1, 0, State::excluded, 7, 1, {}});
        victim.receive(message, world.now_us(), out);
    }
    EXPECT_LE(victim.table().known(), 2000u);
    message.claims = {Claim{3, 5000, 0, State::excluded, 4, 1, {}}};
    victim.receive(message, world.now_us(), out);
    EXPECT_EQ(victim.table().at(3).state, State::alive) << "no rank has lived so often";
}

// Tells a member `claims` times that another process has its rank, each time `pause` later and in a later life.
bool is_displaced(bool owns_rank, int claims, TimeUs pause) {
    const auto profile = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::alive, 8, profile});
    TimeUs now = period_us;
    Swim swim({}, {1, 0, 1, 7, profile, owns_rank}, known, 5, now);
    Swim::Outbox out;
    for (int i = 0; i < claims; ++i) {
        group::Message message{1, group::Kind::sync_push, 1, 1, 0};
        message.claims = {Claim{0, swim.self().incarnation + 1, 0, State::alive, 1, 1, profile}};
        swim.receive(message, now, out);
        now += pause;
        swim.tick(now, out);
        if (swim.displaced()) return true;
    }
    EXPECT_EQ(swim.table().at(0).process, 7u);
    return false;
}

TEST(swim, one_that_claims_a_rank_is_believed_only_if_it_goes_on_for_periods_and_never_against_a_roster) {
    support::LogWatch log;
    log.allow("another process keeps claiming rank 0");
    EXPECT_FALSE(is_displaced(false, 1000, period_us / 1000));
    EXPECT_FALSE(is_displaced(false, 100, 6 * period_us)) << "now and then";
    EXPECT_TRUE(is_displaced(false, 100, period_us));
    EXPECT_EQ(log.allowed(), 0u);
    EXPECT_FALSE(is_displaced(true, 100, period_us));
    EXPECT_GT(log.allowed(), 0u);
    EXPECT_EQ(log.allowed_fields(), " peer=tcp://127.0.0.1:1 rank=0");
}

// Whether a member gives its rank up when it hears once that another process has it in that incarnation.
bool gives_up(std::uint32_t incarnation, const SwimOptions& options, bool owns_rank = false) {
    const auto profile = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::alive, 8, profile});
    Swim swim(options, {1, 0, 1, 7, profile, owns_rank}, known, 5, period_us);
    Swim::Outbox out;
    group::Message message{1, group::Kind::sync_push, 1, 1, 0};
    message.claims = {Claim{0, incarnation, 0, State::alive, 1, 1, profile}};
    swim.receive(message, period_us, out);
    return swim.displaced();
}

constexpr SwimOptions reusing{.reuse_ranks_after = Microseconds(60 * period_us)};

TEST(swim, a_member_whose_rank_was_given_away_gives_it_up_at_once) {
    constexpr std::uint32_t given = group::first_life_of(1);
    EXPECT_TRUE(gives_up(given, reusing));
    EXPECT_FALSE(gives_up(given - 2, reusing)) << "within its own lives";
    EXPECT_FALSE(gives_up(given, {})) << "ranks of this group are never given again";
    EXPECT_FALSE(gives_up(given, reusing, true)) << "a roster assigns it";
    EXPECT_TRUE(gives_up(group::first_life_of(30), reusing)) << "many have held it since";
}

TEST(swim, a_member_that_missed_many_holders_of_a_rank_learns_of_the_present_one) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    const auto process_after_claim = [&here](const SwimOptions& options) {
        group::Table known;
        known.put(1, {1, 0, State::excluded, 8, here});
        known.put(2, {1, 0, State::alive, 9, here});
        Swim swim(options, {1, 0, 1, 7, here}, known, 5, period_us);
        Swim::Outbox out;
        group::Message message{1, group::Kind::sync_push, 2, 1, 0};
        message.claims = {Claim{1, group::first_life_of(30), 0, State::alive, 10, group::no_rank, here}};
        swim.receive(message, period_us, out);
        return swim.table().at(1).process;
    };
    EXPECT_EQ(process_after_claim(reusing), 10u);
    EXPECT_EQ(process_after_claim({}), 8u) << "no process of this group lives so often";
}

TEST(swim, a_member_that_was_stopped_gives_no_rank_away_before_it_had_time_to_hear) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::left, 8, here});
    TimeUs now = period_us;
    Swim swim(reusing, {1, 0, 1, 7, here}, known, 5, now);
    Swim::Outbox out;
    const auto run_until = [&](TimeUs end) {
        for (; now < end; now += period_us / 4) swim.tick(now, out);
    };
    run_until(50 * period_us);
    now += 1000 * period_us;
    EXPECT_EQ(swim.free_rank(0, now), 2u) << "the request to join is the first that it hears";
    run_until(now + 30 * period_us);
    EXPECT_EQ(swim.free_rank(0, now), 2u);
    run_until(now + 10 * period_us);
    EXPECT_EQ(swim.free_rank(0, now), 1u);
}

TEST(swim, a_rank_that_was_given_away_passes_on_when_its_former_holder_is_silent) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {1, 0, State::alive, 8, here});
    known.put(2, {1, 0, State::alive, 9, here});
    TimeUs now = period_us;
    Swim swim(reusing, {1, 0, 1, 7, here}, known, 5, now);
    Swim::Outbox out;
    group::Message message{1, group::Kind::sync_push, 2, 1, 0};
    message.claims = {
        Claim{1, group::first_life_of(1), 0, State::alive, 10, group::no_rank, profile_at("tcp://127.0.0.1:2")}};
    swim.receive(message, now, out);
    EXPECT_EQ(swim.table().at(1).state, State::suspect);
    EXPECT_EQ(swim.table().at(1).process, 8u) << "it may still refute that";
    for (int period = 0; period < 20; ++period) {
        now += period_us;
        swim.tick(now, out);
        swim.receive(message, now, out);
    }
    EXPECT_EQ(swim.table().at(1).process, 10u);
    EXPECT_TRUE(swim.table().at(1).present());
}

TEST(swim, a_former_holder_of_a_rank_is_told_of_the_present_one) {
    const auto here = profile_at("tcp://127.0.0.1:1");
    group::Table known;
    known.put(1, {group::first_life_of(1), 0, State::alive, 8, here});
    Swim swim(reusing, {1, 0, 1, 7, here}, known, 5, period_us);
    const auto claims_for = [&swim](std::uint32_t incarnation) {
        Swim::Outbox out;
        swim.receive({1, group::Kind::ping, 1, incarnation, 0, group::no_rank, 77, {}, {}, {}}, period_us, out);
        const auto& claims = out.at(0).claims;
        return std::count_if(claims.begin(), claims.end(), [](const Claim& claim) { return claim.rank == 1; });
    };
    EXPECT_EQ(claims_for(group::first_life_of(1)), 0);
    EXPECT_EQ(claims_for(1), 1);
}

// How many messages of a kind a member sends when it receives the same message a thousand times.
std::size_t sent_of_kind(const group::Message& told, group::Kind kind, Rank to) {
    SwimWorld world(10, {}, {}, 12);
    world.run_for(30 * period_us);
    Swim::Outbox out;
    for (int i = 0; i < 1000; ++i) world.member(0).receive(told, world.now_us(), out);
    return static_cast<std::size_t>(std::count_if(
        out.begin(), out.end(), [&](const group::Message& sent) { return sent.kind == kind && sent.to == to; }));
}

TEST(swim, one_that_asks_for_pings_without_end_has_four) {
    const group::Message asks{1, group::Kind::ping_request, 3, 1, 0, 5, 77, {}, {}, {}};
    EXPECT_EQ(sent_of_kind(asks, group::Kind::ping, 5), 4u);
}

TEST(swim, one_that_asks_for_digests_without_end_is_answered_eight_times) {
    group::Message asks{1, group::Kind::sync, 3, 1, 0, group::no_rank, 77, {}, {}, {}};
    asks.digests.resize(group::Table::buckets, 1);
    EXPECT_EQ(sent_of_kind(asks, group::Kind::sync_answer, 3), 8u);
}

TEST(swim, one_that_answers_unasked_gets_claims_eight_times) {
    group::Message answers{1, group::Kind::sync_answer, 3, 1, 0, group::no_rank, 77, {}, {}, {}};
    answers.digests.resize(group::Table::buckets, 1);
    EXPECT_EQ(sent_of_kind(answers, group::Kind::sync_push, 3), 8u);
}

TEST(swim, equal_seeds_give_equal_runs) {
    const auto run = [] {
        SwimWorld world(40, {}, {.loss_per_mille = 100, .slow_per_cent = 10}, 77);
        world.run_for(50 * period_us);
        return world.messages();
    };
    EXPECT_EQ(run(), run());
}

TEST(swim, periods_may_be_as_short_as_ten_milliseconds) {
    SwimWorld world(20, {.period = Microseconds(10'000)}, {}, 8);
    std::size_t excluded = 0;
    world.on_change = [&](Rank, const Change& change) { excluded += change.happened == Happened::excluded; };
    world.run_for(100'000);
    world.kill(6);
    world.run_for(600'000);
    EXPECT_EQ(excluded, 19u);
}

}  // namespace
}  // namespace cinnabar::test
