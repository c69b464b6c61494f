// SPDX-License-Identifier: BSD-3-Clause
// Calls to members are retried within their deadline and the budget, and calls that a process starts have a quota.
#include "sim_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Group;
using group::Rank;
using group::Reached;

constexpr Rank member_one[] = {1};

// Uses up the limit that member 1 has for calls of member 0.
void fill(SimGroup& all, Microseconds span) {
    const auto wait = [](Group group, Microseconds deadline) -> Task<void> {
        auto calling = group.call(wait_long, 1, {.deadline = deadline});
        (void)co_await calling;
    };
    for (std::uint32_t i = 0; i < SimGroup::calls_max / 2; ++i) (void)all[0].node->spawn(wait(*all[0].group, span));
    all.run_for(1ms);
    ASSERT_EQ(all[1].waiting, static_cast<int>(SimGroup::calls_max / 2));
}

std::uint64_t served_by(const SimMember& member) {
    for (const auto& rpc : member.node->stats()) {
        if (rpc.name == "cinnabar.group.call") return rpc.requests;
    }
    return 0;
}

TEST(group_retry, a_member_that_has_no_room_for_a_moment_is_asked_again) {
    SimGroup all(3, 61);
    fill(all, 5ms);
    const std::uint64_t before = served_by(all[1]);
    const auto sum = sync_wait(all[0].group->reduce(give_rank, 1, group::plus, {.deadline = 10s})).value();
    EXPECT_TRUE(sum.all());
    EXPECT_EQ(sum.value, 6u);
    EXPECT_GE(served_by(all[1]) - before, 2u);
    EXPECT_EQ(all[1].runs.size(), 1u);
}

TEST(group_retry, the_budget_ends_retries_of_one_that_never_has_room) {
    SimGroup all(3, 62);
    fill(all, 60s);
    const std::uint64_t before = served_by(all[1]);
    for (int i = 0; i < 40; ++i) {
        const CollectiveOptions one{.deadline = 10s, .only = member_one};
        const auto told = sync_wait(all[0].group->broadcast(give_rank, 1, one)).value();
        ASSERT_EQ(told.failures.size(), 1u);
        EXPECT_EQ(told.failures[0].code, Errc::overloaded);
    }
    const std::uint64_t requests = served_by(all[1]) - before;
    EXPECT_GT(requests, 41u) << "the first are tried again";
    EXPECT_LE(requests, 50u) << "then no more";
    EXPECT_EQ(sync_wait(all[0].group->call(give_rank, 2, 1, {.deadline = 10s})).value(), 3u)
        << "others are not affected";
}

TEST(group_retry, one_deadline_covers_all_attempts) {
    SimGroup all(3, 63);
    fill(all, 60s);
    const TimeUs before = all.world().now_us();
    const auto told = sync_wait(all[0].group->broadcast(give_rank, 1, {.deadline = 3ms, .only = member_one})).value();
    EXPECT_EQ(told.failures.size(), 1u);
    EXPECT_LE(all.world().now_us() - before, 3'100u);
}

TEST(group_retry, a_failure_tells_each_attempt) {
    SimGroup all(3, 64);
    fill(all, 60s);
    const auto told = sync_wait(all[0].group->broadcast(give_rank, 1, {.deadline = 10s, .only = member_one})).value();
    ASSERT_EQ(told.failures.size(), 1u);
    EXPECT_NE(told.failures[0].text.find("3 attempts: overloaded"), std::string::npos) << told.failures[0].text;
    EXPECT_LE(told.failures[0].text.size(), 256u);
    const auto one = sync_wait(all[0].group->call(give_rank, 1, 1, {.deadline = 10s}));
    EXPECT_EQ(one.code(), Errc::overloaded);
    EXPECT_NE(one.error().subject.find(" attempts: overloaded"), std::string::npos) << "fewer, by the budget";
}

// One call at a time may be in progress, and the others wait for it.
TEST(group_retry, calls_that_wait_for_the_quota_go_by_priority) {
    auto world = sim::World::numbered(20'061, {.seed = 65});
    constexpr Rpc<void(int)> work{"work"};
    std::vector<int> order;
    Node one = Node::listen("sim://p0?world=20061").value();
    Node two = Node::listen("sim://p1?world=20061").value();
    group::GroupOptions options;
    options.quota.node_calls = 1;
    options.seed = 65;
    Group first = Group::create(one, options).value();
    options.seed = 66;
    Group second = sync_wait(Group::join(two, {"sim://p0"}, options)).value();
    ASSERT_TRUE(sync_wait(with_deadline(first.wait_for_members(2), 10s)).ok());
    const auto take = [node = NodeRef(two), &order](int number) -> Task<void> {
        order.push_back(number);
        (void)co_await node.sleep_for(10ms);
    };
    second.serve(work, take).value();
    const auto call = [](Group group, Rpc<void(int)> rpc, int number, Priority priority) -> Task<void> {
        const CollectiveOptions with{.deadline = 10s, .only = member_one, .priority = priority};
        auto calling = group.broadcast(rpc, number, with);
        (void)co_await calling;
    };
    (void)one.spawn(call(first, work, 1, Priority::normal));
    (void)one.spawn(call(first, work, 2, Priority::low));
    (void)one.spawn(call(first, work, 3, Priority::normal));
    (void)one.spawn(call(first, work, 4, Priority::high));
    (void)one.run_for(200ms);
    EXPECT_EQ(order, (std::vector<int>{1, 4, 3, 2}));
}

struct Service {
    int running = 0;
    int most = 0;
};

TEST(group_retry, calls_that_a_process_starts_have_a_quota_and_those_that_it_passes_on_have_none) {
    auto world = sim::World::numbered(20'060, {.seed = 60});
    std::vector<Node> nodes;
    std::vector<Group> groups;
    Service service;
    for (unsigned i = 0; i < 4; ++i) {
        nodes.push_back(Node::listen("sim://q" + std::to_string(i) + "?world=20060").value());
        group::GroupOptions options;
        options.seed = 60 + i;
        options.quota.node_calls = 1;
        groups.push_back(i == 0 ? Group::create(nodes[0], options).value()
                                : sync_wait(Group::join(nodes[i], {"sim://q0"}, options)).value());
    }
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_TRUE(sync_wait(with_deadline(groups[i].wait_for_members(4), 10s)).ok());
        const auto work = [node = NodeRef(nodes[i]), &service]() -> Task<void> {
            service.most = std::max(service.most, ++service.running);
            (void)co_await node.sleep_for(10ms);
            --service.running;
        };
        groups[i].serve(Rpc<void()>("work"), work).value();
    }
    const auto run = [](Group group, CollectiveOptions options, std::size_t& reached) -> Task<void> {
        auto calling = group.broadcast(Rpc<void()>("work"), options);
        const Result<Reached> told = co_await calling;
        reached += told.ok() ? told->count : 0;
    };
    std::size_t reached = 0;
    const CollectiveOptions one{.deadline = 10s, .only = member_one};
    for (int i = 0; i < 3; ++i) (void)nodes[0].spawn(run(groups[0], one, reached));
    (void)nodes[0].run_for(100ms);
    EXPECT_EQ(reached, 3u);
    EXPECT_EQ(service.most, 1) << "one after the other";
    service.most = 0;
    const Rank self[] = {0};
    const CollectiveOptions tree{.deadline = 10s, .except = self, .tree = group::Tree::k_ary, .fanout = 2};
    const CollectiveOptions chain{.deadline = 10s, .except = self, .tree = group::Tree::chain};
    (void)nodes[0].spawn(run(groups[0], chain, reached));
    (void)nodes[0].run_for(100ms);
    EXPECT_EQ(service.most, 3) << "those below the first member run beside it";
    (void)nodes[0].spawn(run(groups[0], tree, reached));
    (void)nodes[0].run_for(200ms);
    EXPECT_EQ(reached, 9u);
    groups.clear();
}

}  // namespace
}  // namespace cinnabar::test
