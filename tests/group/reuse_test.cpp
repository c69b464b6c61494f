// SPDX-License-Identifier: BSD-3-Clause
// Groups whose ranks are given again (SwimOptions::reuse_ranks_after), on the simulated network.
#include "sim_group.hpp"

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Rank;
using group::State;
using group::Tree;

constexpr CollectiveOptions in_ten_seconds{.deadline = 10s};

TEST(reuse, a_rank_is_given_again_after_the_time_that_was_asked_for) {
    SimGroup all(5, 40, {}, 20s);
    all.kill(all[3]);
    ASSERT_TRUE(all.converge(10s));
    EXPECT_EQ(all.add().group->rank(), 5u) << "too early";
    all.run_for(30s);
    SimMember& heir = all.add();
    EXPECT_EQ(heir.group->rank(), 3u);
    EXPECT_EQ(all.add().group->rank(), 6u) << "no other rank is free";
    ASSERT_TRUE(all.converge(10s));
    const group::View view = all[1].group->view();
    EXPECT_EQ(view.members().size(), 7u);
    EXPECT_EQ(view.find(3)->state, State::alive);
    EXPECT_GT(view.find(3)->incarnation, 1u);
    EXPECT_EQ(sync_wait(all[1].group->call(give_rank, 3, 10, in_ten_seconds)).value(), 40u);
    EXPECT_EQ(heir.runs.size(), 1u);
}

TEST(reuse, the_rank_that_is_gone_for_longest_goes_first_and_as_often_as_needed) {
    SimGroup all(4, 41, {}, 4s);
    all.leave(all[2]);
    all.run_for(1s);
    all.leave(all[1]);
    all.run_for(10s);
    for (int round = 0; round < 3; ++round) {
        SimMember& first = all.add();
        SimMember& second = all.add();
        EXPECT_EQ(first.group->rank(), 2u);
        EXPECT_EQ(second.group->rank(), 1u);
        ASSERT_TRUE(all.converge(10s));
        const auto sum = sync_wait(all[3].group->reduce(give_rank, 1, group::plus, in_ten_seconds)).value();
        EXPECT_TRUE(sum.all());
        EXPECT_EQ(sum.value, 1u + 2 + 3 + 4);
        all.leave(first);
        all.run_for(1s);
        all.leave(second);
        all.run_for(10s);
    }
    EXPECT_EQ(all[0].group->view().members().size(), 4u);
}

TEST(reuse, without_the_option_no_rank_is_given_again) {
    SimGroup all(3, 42);
    all.leave(all[1]);
    all.run_for(10min);
    EXPECT_EQ(all.add().group->rank(), 3u);
}

TEST(reuse, a_member_that_comes_back_in_time_keeps_its_rank) {
    SimGroup all(5, 43, {}, 1h);
    for (std::size_t i = 0; i < 4; ++i) all.partition(all[i], all[4]);
    all.run_for(60s);
    EXPECT_EQ(all[0].group->view().find(4)->state, State::excluded);
    all.heal();
    EXPECT_TRUE(all.converge(120s));
    EXPECT_FALSE(SimGroup::ended(all[4]));
    EXPECT_EQ(all[4].group->rank(), 4u);
}

TEST(reuse, a_member_that_was_cut_off_for_longer_loses_its_rank_and_joins_anew) {
    SimGroup all(5, 44, {}, 5s);
    for (std::size_t i = 0; i < 4; ++i) all.partition(all[i], all[4]);
    all.run_for(30s);
    SimMember& heir = all.add_through(all[0]);
    all.partition(heir, all[4]);
    EXPECT_EQ(heir.group->rank(), 4u);
    all.run_for(10s);
    EXPECT_FALSE(SimGroup::ended(all[4])) << "it has not heard of it";
    all.heal();
    for (int i = 0; i < 600 && !SimGroup::ended(all[4]); ++i) all.run_for(100ms);
    ASSERT_TRUE(SimGroup::ended(all[4]));
    all.join_again(all[4], all[0]);
    EXPECT_EQ(all[4].group->rank(), 5u);
    EXPECT_TRUE(all.converge(60s));
    EXPECT_FALSE(SimGroup::ended(heir));
    EXPECT_EQ(sync_wait(all[4].group->call(give_rank, 4, 1, in_ten_seconds)).value(), 5u);
    EXPECT_EQ(heir.runs.size(), 1u);
}

// The client sees rank 3 as it was; inner members of the tree know whom it does not mean.
TEST(reuse, a_call_with_an_old_view_is_not_executed_by_the_next_holder_of_a_rank) {
    for (const Tree tree : {Tree::flat, Tree::chain, Tree::k_ary}) {
        SimGroup all(5, 45, {}, 5s);
        auto client = all.client();
        for (std::size_t i = 0; i < 5; ++i) all.partition(*client, all[i]);
        all.run_for(1s);
        all.kill(all[3]);
        all.run_for(30s);
        SimMember& heir = all.add();
        ASSERT_EQ(heir.group->rank(), 3u);
        ASSERT_TRUE(all.converge(10s));
        all.heal();
        const CollectiveOptions options{.deadline = 10s, .tree = tree, .fanout = 2};
        const auto gathered = sync_wait(client->group->gather(give_rank, 1, options)).value();
        // The client may still wait for the member that it dialled while it was cut off.
        EXPECT_EQ(gathered.values.size() + gathered.failures.size(), 5u);
        EXPECT_GE(gathered.values.size(), 2u);
        bool failed = false;
        for (const group::Failure& failure : gathered.failures) {
            failed = failed || failure.rank == 3;
            EXPECT_TRUE(failure.rank == 3 || failure.code == Errc::timed_out) << failure.rank;
        }
        EXPECT_TRUE(failed);
        EXPECT_TRUE(heir.runs.empty());
        EXPECT_GT(client->group->view().find(3)->incarnation, 1u) << "the answers brought the view up to date";
        EXPECT_EQ(sync_wait(client->group->call(give_rank, 3, 1, options)).value(), 4u);
        EXPECT_EQ(heir.runs.size(), 1u);
    }
}

constexpr Rpc<void(std::uint64_t)> take_late{"test.take_late"};  // receives its bytes after so many seconds

void serve_late(SimMember& member, int& begun) {
    const NodeRef node = *member.node;
    const auto take = [node, &begun](std::uint64_t seconds, group::Portion portion) -> Task<Result<void>> {
        ++begun;
        (void)co_await node.sleep_for(Microseconds(seconds * 1'000'000));
        std::vector<std::byte> memory(portion.bytes());
        auto receiving = portion.receive(Bytes(memory));
        co_return co_await receiving;
    };
    member.group->serve_bulk(take_late, take).value();
}

Task<void> scatter_into(group::Group group, std::map<Rank, bulk::Region> regions, group::BulkOptions options,
                        std::optional<Result<group::Reached>>& out) {
    auto task = group.scatter_bulk(take_late, 10, std::move(regions), options);
    out = co_await task;
}

// The caller gives each rank what it has for the process that had it when the call began.
TEST(reuse, a_call_that_takes_long_gives_nothing_to_the_next_holder_of_a_rank) {
    int begun = 0;
    std::vector<std::byte> bytes(100);
    std::optional<Result<group::Reached>> out;
    SimGroup all(4, 46, {}, 4s);
    for (std::size_t i = 0; i < 4; ++i) serve_late(all[i], begun);
    const bulk::Region region = bulk::Region::expose(Bytes(bytes), na::Access::read_write).value();
    const std::map<Rank, bulk::Region> regions{{1, region}, {2, region}};
    group::BulkOptions options;
    options.call.deadline = 60s;
    options.members_in_flight = 1;
    ASSERT_EQ(all[0].node->spawn(scatter_into(*all[0].group, regions, options, out)), Errc::ok);
    all.run_for(1s);
    EXPECT_EQ(begun, 1);
    all.leave(all[2]);
    all.run_for(6s);
    SimMember& heir = all.add();
    serve_late(heir, begun);
    EXPECT_EQ(heir.group->rank(), 2u);
    all.run_for(20s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 1u);
    ASSERT_EQ((*out)->failures.size(), 1u);
    EXPECT_EQ((*out)->failures[0].rank, 2u);
    EXPECT_EQ((*out)->failures[0].code, Errc::peer_lost);
    EXPECT_EQ(begun, 1) << "the next holder was not asked";
}

}  // namespace
}  // namespace cinnabar::test
