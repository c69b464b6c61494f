// SPDX-License-Identifier: BSD-3-Clause
// Groups on the simulated network: membership, and collective calls.
#include "sim_group.hpp"

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Event;
using group::Gathered;
using group::Group;
using group::Happened;
using group::Rank;
using group::Reached;
using group::Reduced;
using group::State;
using group::Tree;

constexpr CollectiveOptions ten_seconds{.deadline = 10s};

TEST(group, members_join_by_a_seed_and_know_each_other) {
    SimGroup all(6, 1);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(all[i].group->rank(), i);
        EXPECT_EQ(all[i].group->view().present().size(), 6u);
        EXPECT_TRUE(all[i].group->view().find(3)->address().listens());
    }
}

TEST(group, a_dead_member_is_excluded_and_its_rank_not_given_out_again) {
    SimGroup all(5, 2);
    group::Events events = all[0].group->events();
    all.kill(all[3]);
    ASSERT_TRUE(all.converge(30s));
    EXPECT_EQ(all[0].group->view().find(3)->state, State::excluded);
    std::vector<Happened> seen;
    while (seen.empty() || seen.back() != Happened::excluded) {
        const Result<Event> event = sync_wait(with_deadline(events.next(), 1s));
        ASSERT_TRUE(event.ok());
        EXPECT_EQ(event->rank, 3u);
        seen.push_back(event->happened);
    }
    EXPECT_EQ(all.add().group->rank(), 5u);
}

// The handler of a member never returns; it answers pings all the same.
TEST(group, a_member_that_is_stuck_can_be_excluded) {
    auto world = sim::World::numbered(20'002, {.seed = 8});
    group::Roster roster;
    std::vector<Node> nodes;
    std::vector<Group> groups;
    group::GroupOptions options;
    options.swim.period = 100ms;
    options.swim.rejoin = false;
    for (int i = 0; i < 4; ++i) roster.addresses.push_back("sim://x" + std::to_string(i));
    for (roster.self = 0; roster.self < 4; ++roster.self) {
        nodes.push_back(Node::listen(roster.addresses[roster.self] + "?world=20002").value());
        options.seed = 60 + roster.self;
        groups.push_back(Group::start(nodes.back(), roster, options).value());
    }
    for (const Group& each : groups) ASSERT_TRUE(sync_wait(with_deadline(each.wait_for_members(4), 60s)).ok());
    EXPECT_EQ(groups[0].exclude(0).code(), Errc::invalid_argument);
    EXPECT_EQ(groups[0].exclude(9).code(), Errc::not_found);
    ASSERT_TRUE(groups[0].exclude(2).ok());
    EXPECT_EQ(groups[0].view().find(2)->state, State::excluded);
    EXPECT_EQ(groups[0].exclude(2).code(), Errc::not_found);
    EXPECT_EQ(sync_wait(with_deadline(groups[0].wait_for_members(4), 20s)).code(), Errc::timed_out);  // simulated time
    for (const std::size_t other : {1u, 3u}) EXPECT_EQ(groups[other].view().find(2)->state, State::excluded);
    EXPECT_EQ(groups[2].exclude(1).code(), Errc::closed) << "its part has ended";
    groups.clear();
}

TEST(group, a_member_that_would_come_back_is_not_excluded) {
    SimGroup all(3, 33);
    EXPECT_EQ(all[0].group->exclude(1).code(), Errc::unsupported);
    EXPECT_EQ(all.client()->group->exclude(1).code(), Errc::unsupported);
}

TEST(group, one_that_leaves_is_gone_at_once) {
    SimGroup all(4, 3);
    all[2].group->leave();
    all.run_for(20ms);
    EXPECT_EQ(all[0].group->view().find(2)->state, State::left);
    EXPECT_EQ(all[1].group->view().present().size(), 3u);
    const auto late = sync_wait(all[2].group->broadcast(note, std::string("late")));
    EXPECT_EQ(late.code(), Errc::closed);
    const auto never = sync_wait(all[2].group->events().next());
    EXPECT_EQ(never.code(), Errc::closed);
}

TEST(group, the_halves_of_a_cut_group_come_together_again) {
    SimGroup all(5, 4);
    for (std::size_t a = 0; a < 2; ++a) {
        for (std::size_t b = 2; b < 5; ++b) all.partition(all[a], all[b]);
    }
    all.run_for(20s);
    EXPECT_EQ(all[0].group->view().present().size(), 2u);
    EXPECT_EQ(all[4].group->view().present().size(), 3u);
    all.heal();
    EXPECT_TRUE(all.converge(120s));
    EXPECT_GT(all[0].group->view().find(4)->incarnation, 1u);
}

TEST(group, members_of_a_roster_find_each_other_in_any_order) {
    auto world = sim::World::numbered(20'000, {.seed = 5});
    group::Roster roster;
    std::vector<Node> nodes;
    std::vector<Group> groups;
    for (int i = 0; i < 5; ++i) roster.addresses.push_back("sim://r" + std::to_string(i));
    for (const Rank rank : {3u, 0u, 4u, 1u, 2u}) {
        nodes.push_back(Node::listen("sim://r" + std::to_string(rank) + "?world=20000").value());
        roster.self = rank;
        group::GroupOptions options;
        options.seed = 50 + rank;
        groups.push_back(Group::start(nodes.back(), roster, options).value());
    }
    for (const Group& each : groups) {
        EXPECT_TRUE(sync_wait(with_deadline(each.wait_for_members(5), 60s)).ok());
    }
    EXPECT_EQ(groups[0].rank(), 3u);
    groups.clear();
}

TEST(group, joining_says_why_it_failed) {
    SimGroup all(1, 6);
    Node mute = Node::open(all.uri("mute")).value();
    const std::vector<std::string> seed{"sim://m0"};
    EXPECT_EQ(sync_wait(Group::join(mute, seed)).code(), Errc::invalid_argument) << "it does not listen";
    Node other = Node::listen(all.uri("other")).value();
    group::GroupOptions options;
    options.name = "another";
    EXPECT_EQ(sync_wait(Group::join(other, seed, options)).code(), Errc::not_found);
    options.name = "group";
    options.join_time = 2s;
    const std::vector<std::string> unknown{"no-such-transport://here"};
    EXPECT_EQ(sync_wait(Group::join(other, unknown, options)).code(), other.lookup(unknown[0]).code());
    const std::vector<std::string> nobody{"sim://nobody"};
    EXPECT_FALSE(sync_wait(Group::join(other, nobody, options)).ok());
    EXPECT_EQ(sync_wait(Group::join(other, {}, options)).code(), Errc::invalid_argument);
    options.labels["long"] = std::string(2000, 'x');
    EXPECT_EQ(Group::create(other, options).code(), Errc::invalid_argument);
}

TEST(group, a_seed_that_this_node_cannot_reach_leaves_the_others) {
    SimGroup all(1, 32);
    Node other = Node::listen(all.uri("other")).value();
    group::GroupOptions options;
    options.seeds_in_order = true;
    const std::vector<std::string> seeds{"no-such-transport://here", "not an address", "sim://m0"};
    const auto joined = sync_wait(Group::join(other, seeds, options));
    EXPECT_TRUE(joined.ok()) << joined.error().message();
}

TEST(group, ranks_end_with_members_max) {
    auto world = sim::World::numbered(20'001, {.seed = 7});
    Node one = Node::listen("sim://one?world=20001").value();
    Node two = Node::listen("sim://two?world=20001").value();
    group::GroupOptions options;
    options.swim.members_max = 1;
    Group group = Group::create(one, options).value();
    const std::vector<std::string> seed{"sim://one"};
    EXPECT_EQ(sync_wait(Group::join(two, seed, options)).code(), Errc::too_large);
}

TEST(group, one_member_is_called_by_rank) {
    SimGroup all(3, 8);
    EXPECT_EQ(sync_wait(all[0].group->call(give_rank, 2, 10, ten_seconds)).value(), 30u);
    EXPECT_EQ(sync_wait(all[0].group->call(give_rank, 0, 10, ten_seconds)).value(), 10u) << "itself";
    EXPECT_EQ(sync_wait(all[0].group->call(give_rank, 77, 10, ten_seconds)).code(), Errc::not_found);
    const auto failed = sync_wait(all[0].group->call(fail_on, 1, 1, ten_seconds));
    EXPECT_EQ(failed.code(), Errc::application);
    EXPECT_EQ(failed.error().app_code, 7u);
    EXPECT_EQ(failed.error().subject, "as asked");
}

TEST(group, a_call_to_a_member_that_dies_ends_with_peer_lost) {
    SimGroup all(4, 9);
    for (std::size_t i = 0; i < 3; ++i) all.partition(all[i], all[3]);  // messages are lost, but no connection breaks
    const TimeUs from = all.world().now_us();
    const auto cut = sync_wait(all[0].group->call(wait_long, 3, CollectiveOptions{.deadline = 1h}));
    EXPECT_EQ(cut.code(), Errc::peer_lost);
    EXPECT_LT(all.world().now_us() - from, 60'000'000u) << "long before its deadline";
}

TEST(group, every_tree_reaches_all_and_each_once) {
    SimGroup all(13, 10);
    for (const Tree tree : {Tree::automatic, Tree::flat, Tree::k_ary, Tree::k_nomial}) {
        for (const unsigned fanout : {0u, 2u, 3u}) {
            const CollectiveOptions options{.deadline = 10s, .tree = tree, .fanout = fanout};
            const auto sum = sync_wait(all[4].group->reduce(give_rank, 2, group::plus, options)).value();
            EXPECT_TRUE(sum.all());
            EXPECT_EQ(sum.count, 13u);
            EXPECT_EQ(sum.value, 2u * 13 * 14 / 2);
        }
    }
    for (std::size_t i = 0; i < 13; ++i) {
        EXPECT_EQ(all[i].runs.size(), 12u);
        for (const auto& [key, times] : all[i].runs) EXPECT_EQ(times, 1);
    }
}

TEST(group, a_gather_gives_results_by_rank_and_failures_by_rank) {
    SimGroup all(10, 11);
    const auto gathered = sync_wait(all[0].group->gather(fail_on, 4, ten_seconds)).value();
    ASSERT_EQ(gathered.values.size(), 9u);
    EXPECT_EQ(gathered.values[4].first, 5u);
    ASSERT_EQ(gathered.failures.size(), 1u);
    EXPECT_EQ(gathered.failures[0].rank, 4u);
    EXPECT_EQ(gathered.failures[0].code, Errc::application);
    EXPECT_EQ(gathered.failures[0].text, "as asked");
}

TEST(group, a_scatter_gives_each_its_own) {
    SimGroup all(6, 23);
    all.kill(all[4]);  // before its death is noticed
    const std::map<Rank, std::uint64_t> factors{{0, 10}, {1, 20}, {3, 30}, {4, 40}, {77, 1}};
    const auto gathered = sync_wait(all[1].group->scatter(give_rank, factors, ten_seconds)).value();
    const std::vector<std::pair<Rank, std::uint64_t>> expected{{0, 10}, {1, 40}, {3, 120}};
    EXPECT_EQ(gathered.values, expected);
    ASSERT_EQ(gathered.failures.size(), 2u);
    EXPECT_EQ(gathered.failures[0].rank, 4u);
    EXPECT_EQ(gathered.failures[1].code, Errc::not_found);
    const std::map<Rank, std::string> notes{{2, "two"}, {5, "five"}};
    EXPECT_EQ(sync_wait(all[0].group->scatter(note, notes, ten_seconds)).value().count, 2u);
    EXPECT_EQ(all[2].notes, std::vector<std::string>{"two"});
    EXPECT_EQ(all[5].notes, std::vector<std::string>{"five"});
    EXPECT_TRUE(all[3].notes.empty());
}

TEST(group, a_scatter_to_many_goes_down_a_tree) {
    SimGroup all(24, 24);
    auto client = all.client();
    all.kill(all[0]);  // before its death is noticed; it is the first member that is called and has others below it
    std::map<Rank, std::uint64_t> factors;
    for (Rank rank = 0; rank < 24; ++rank) factors[rank] = 100 + rank;
    const auto gathered = sync_wait(client->group->scatter(give_rank, factors, ten_seconds)).value();
    ASSERT_EQ(gathered.values.size(), 23u);
    for (const auto& [rank, value] : gathered.values) EXPECT_EQ(value, (100 + rank) * (rank + 1));
    ASSERT_EQ(gathered.failures.size(), 1u);
    EXPECT_EQ(gathered.failures[0].rank, 0u);
    EXPECT_LE(all.world().counts(client->host).connections, 16u) << "not with all of them";
    const std::map<Rank, std::string> much{
        {1, std::string(300'000, 'a')}, {2, "b"}, {3, "c"}, {4, "d"}, {5, "e"}, {6, "f"}, {7, "g"}, {8, "h"}, {9, "i"}};
    EXPECT_EQ(sync_wait(client->group->scatter(note, much, ten_seconds)).value().count, 9u) << "straight from here";
    EXPECT_EQ(all[1].notes.front().size(), 300'000u);
    EXPECT_EQ(all[9].notes.front(), "i");
    client->group.reset();
    client->node.reset();
}

TEST(group, subsets_by_inclusion_and_exclusion) {
    SimGroup all(9, 12);
    const std::vector<Rank> some{1, 3, 5, 42};
    const std::vector<Rank> not_these{3};
    const CollectiveOptions options{.deadline = 10s, .only = some, .except = not_these};
    const auto gathered = sync_wait(all[0].group->gather(give_rank, 1, options)).value();
    ASSERT_EQ(gathered.values.size(), 2u);
    EXPECT_EQ(gathered.values[1], (std::pair<Rank, std::uint64_t>(5, 6)));
    ASSERT_EQ(gathered.failures.size(), 1u);
    EXPECT_EQ(gathered.failures[0].code, Errc::not_found) << "there is no rank 42";
}

TEST(group, clients_follow_the_view_and_call_members) {
    SimGroup all(9, 13);
    auto client = all.client();
    EXPECT_EQ(client->group->rank(), group::no_rank);
    EXPECT_EQ(sync_wait(client->group->reduce(give_rank, 1, group::plus, ten_seconds)).value().value, 45u);
    EXPECT_EQ(sync_wait(client->group->barrier("b", ten_seconds)).code(), Errc::permission);
    (void)all.add();
    EXPECT_TRUE(sync_wait(with_deadline(client->group->wait_for_members(10), 30s)).ok());
    all.kill(all[2]);
    all.run_for(15s);
    EXPECT_EQ(client->group->view().find(2)->state, State::excluded);
    EXPECT_EQ(sync_wait(client->group->reduce(give_rank, 1, group::plus, ten_seconds)).value().count, 9u);
}

// The seed of the client listens and joins, but does not reach the group yet.
TEST(group, a_client_waits_until_its_seed_has_joined) {
    SimGroup all(1, 26);
    Node joining = Node::listen(all.uri("joining")).value();
    Node client = Node::open(all.uri("client")).value();
    all.world().partition("joining", all[0].host);
    std::optional<Result<Group>> joined;
    std::optional<Result<Group>> followed;
    group::GroupOptions options;
    options.join_time = 120s;
    options.seed = 27;
    const auto join = [&](NodeRef node) -> Task<void> {
        auto task = Group::join(node, {"sim://m0"}, options);
        joined.emplace(co_await task);
    };
    const auto follow = [&](NodeRef node) -> Task<void> {
        auto task = Group::follow(node, {"sim://joining"}, options);
        followed.emplace(co_await task);
    };
    ASSERT_EQ(joining.spawn(join(joining)), Errc::ok);
    all.run_for(100ms);
    ASSERT_EQ(client.spawn(follow(client)), Errc::ok);
    all.run_for(1s);
    EXPECT_FALSE(joined || followed);
    all.heal();
    all.run_for(60s);
    ASSERT_TRUE(joined && joined->ok());
    ASSERT_TRUE(followed && followed->ok());
    EXPECT_EQ((*followed)->view().present().size(), 2u);
    followed.reset();
    joined.reset();
}

TEST(group, the_subtree_of_a_dead_inner_member_is_taken_over_in_the_same_call) {
    SimGroup all(13, 14);
    const CollectiveOptions binary{.deadline = 10s, .tree = Tree::k_nomial, .fanout = 2};
    all.kill(all[1]);  // before its death is noticed; it is the first child of 0 and has half of all members below it
    const auto gathered = sync_wait(all[0].group->gather(give_rank, 1, binary)).value();
    EXPECT_EQ(gathered.values.size(), 12u);
    ASSERT_EQ(gathered.failures.size(), 1u);
    EXPECT_EQ(gathered.failures[0].rank, 1u);
}

TEST(group, an_old_view_is_brought_up_to_date_by_the_call_itself) {
    SimGroup all(12, 15);
    auto client = all.client();
    // The client can hear only in its calls of the members that join now.
    for (std::size_t i = 0; i < 12; ++i) all.partition(*client, all[i]);
    all.run_for(1s);
    (void)all.add();
    ASSERT_TRUE(all.converge(10s));
    all.heal();
    const CollectiveOptions options{.deadline = 10s};
    EXPECT_EQ(sync_wait(client->group->call(give_rank, 4, 1, options)).value(), 5u);
    EXPECT_EQ(client->group->view().present().size(), 13u);
}

TEST(group, the_deadline_is_one_for_all_and_results_are_partial) {
    SimGroup all(9, 16);
    const CollectiveOptions options{.deadline = 500ms, .tree = Tree::k_nomial, .fanout = 2};
    const TimeUs from = all.world().now_us();
    const auto gathered = sync_wait(all[0].group->gather(wait_long, options)).value();
    EXPECT_LE(all.world().now_us() - from, 600'000u);
    EXPECT_EQ(gathered.failures.size(), 9u);
    all.run_for(1s);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(all[i].waiting, 0) << i;
}

TEST(group, an_inner_member_whose_handler_hangs_costs_its_own_part) {
    for (const Tree tree : {Tree::k_nomial, Tree::k_ary, Tree::chain}) {
        SimGroup all(13, 30);
        constexpr Rpc<std::uint64_t()> hang_at_first{"test.hang_at_first"};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto handler = [&all, i]() -> Task<Result<std::uint64_t>> {
                const Errc slept = co_await all[i].node->sleep_for(i == 1 ? Microseconds(1h) : Microseconds(0));
                if (slept != Errc::ok) co_return slept;
                co_return i;
            };
            ASSERT_TRUE(all[i].group->serve(hang_at_first, handler, group::plus).ok());
        }
        const CollectiveOptions options{.deadline = 2s, .tree = tree, .fanout = 2};
        const auto gathered = sync_wait(all[0].group->gather(hang_at_first, options)).value();
        EXPECT_EQ(gathered.values.size(), 12u);
        ASSERT_EQ(gathered.failures.size(), 1u);
        EXPECT_EQ(gathered.failures[0].rank, 1u);
        EXPECT_EQ(gathered.failures[0].code, Errc::timed_out);
    }
}

TEST(group, a_cancel_reaches_every_leaf) {
    SimGroup all(13, 17);
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    std::optional<Result<Reached>> outcome;
    const auto call = [](Group group, std::stop_token stopped, std::optional<Result<Reached>>& out) -> Task<void> {
        const CollectiveOptions options{.deadline = 1h, .stop = &stopped, .tree = Tree::k_nomial, .fanout = 2};
        auto task = group.broadcast(wait_long, options);
        out.emplace(co_await task);
    };
    ASSERT_EQ(all[0].node->spawn(call(*all[0].group, token, outcome)), Errc::ok);
    all.run_for(1s);
    for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(all[i].waiting, 1) << i;
    stop.request_stop();
    all.run_for(1s);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ((*outcome)->failures.size(), 13u);
    for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(all[i].waiting, 0) << i;
}

TEST(group, a_call_whose_origin_dies_ends_everywhere) {
    SimGroup all(7, 18);
    const auto call = [](Group group) -> Task<void> {
        const CollectiveOptions options{.deadline = 1h, .tree = Tree::k_nomial, .fanout = 2};
        auto task = group.broadcast(wait_long, options);
        (void)co_await task;
    };
    ASSERT_EQ(all[6].node->spawn(call(*all[6].group)), Errc::ok);
    all.run_for(1s);
    EXPECT_EQ(all[0].waiting, 1);
    all.kill(all[6]);
    all.run_for(20s);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(all[i].waiting, 0) << i;
}

struct Passed {
    int members = 0;
    std::size_t count = 0;  // as reported to the last member
};

Task<void> pass_barrier(Group group, Passed& passed) {
    auto task = group.barrier("step", CollectiveOptions{.deadline = 60s});
    const Result<Reached> reached = co_await task;
    if (reached.ok()) passed.count = reached->count;
    ++passed.members;
}

// The members [first, last) arrive at a barrier.
void come(SimGroup& all, std::size_t first, std::size_t last, Passed& passed) {
    for (std::size_t i = first; i < last; ++i)
        ASSERT_EQ(all[i].node->spawn(pass_barrier(*all[i].group, passed)), Errc::ok);
}

TEST(group, a_barrier_holds_all_until_the_last_has_come) {
    SimGroup all(6, 19);
    for (int round = 0; round < 3; ++round) {
        Passed passed;
        come(all, 0, 5, passed);
        all.run_for(2s);
        EXPECT_EQ(passed.members, 0);
        come(all, 5, 6, passed);
        all.run_for(2s);
        EXPECT_EQ(passed.members, 6);
        EXPECT_EQ(passed.count, 6u);
    }
}

TEST(group, a_barrier_goes_on_when_its_leader_dies) {
    SimGroup all(6, 20);
    Passed passed;
    come(all, 1, 5, passed);
    all.run_for(1s);
    all.kill(all[0]);
    all.run_for(10s);
    EXPECT_EQ(passed.members, 0);
    come(all, 5, 6, passed);
    all.run_for(10s);
    EXPECT_EQ(passed.members, 5);
    EXPECT_EQ(passed.count, 5u);
}

Task<void> pass_barrier_and_leave(Group group, Passed& passed) {
    auto task = pass_barrier(group, passed);
    co_await task;
    group.leave();
}

// If the leader leaves before it has released all members, others release them.
TEST(group, members_may_leave_as_soon_as_a_barrier_lets_them_go) {
    SimGroup all(40, 23);
    Passed passed;
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i].node->spawn(pass_barrier_and_leave(*all[i].group, passed)), Errc::ok);
    all.run_for(5s);
    EXPECT_EQ(passed.members, 40);
    EXPECT_EQ(passed.count, 40u);
}

TEST(group, an_inner_member_that_leaves_in_a_call_leaves_those_below_it_to_others) {
    SimGroup all(40, 24);
    constexpr Rpc<std::uint64_t()> leave_now{"test.leave_now"};
    for (std::size_t i = 0; i < all.size(); ++i) {
        SimMember& member = all[i];
        const auto handler = [&member, i]() -> std::uint64_t {
            if (i == 1) member.group->leave();
            return 1;
        };
        ASSERT_TRUE(member.group->serve(leave_now, handler, group::plus).ok());
    }
    const CollectiveOptions binary{.deadline = 10s, .tree = Tree::k_nomial, .fanout = 2};
    const auto reduced = sync_wait(all[0].group->reduce(leave_now, group::plus, binary)).value();
    EXPECT_GE(reduced.count, 39u);
    for (const auto& failure : reduced.failures) EXPECT_EQ(failure.rank, 1u);
}

// The first member leaves when one of those below it has answered. Those that still run the call know whom to call, so
// nobody else may call these. The client hears of that from another member, mostly later than it gets the answer; if
// earlier, it counts the first member as lost. Returns how many members it counts.
std::uint64_t count_although_the_first_leaves(std::uint64_t seed) {
    SimGroup all(12, seed);
    constexpr Rpc<std::uint64_t()> count_late{"test.count_late"};
    std::vector<int> runs(all.size());
    bool over = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        SimMember& member = all[i];
        const auto handler = [&member, &runs, &over, i]() -> Task<Result<std::uint64_t>> {
            ++runs[i];
            while (i > 0 && i < 4 && !over) {
                const Errc slept = co_await member.node->sleep_for(10ms);
                if (slept != Errc::ok) co_return slept;
            }
            co_return 1;
        };
        EXPECT_TRUE(member.group->serve(count_late, handler, group::plus).ok());
    }
    const auto client = all.client();
    std::optional<Result<Reduced<std::uint64_t>>> out;
    const auto call = [&](Group group) -> Task<void> {
        const CollectiveOptions binary{.deadline = 10s, .tree = Tree::k_nomial, .fanout = 2};
        auto task = group.reduce(count_late, group::plus, binary);
        out.emplace(co_await task);
    };
    EXPECT_EQ(client->node->spawn(call(*client->group)), Errc::ok);
    all.run_for(100ms);
    all[0].group->leave();
    all.run_for(100ms);
    over = true;
    all.run_for(1s);
    EXPECT_EQ(runs, std::vector<int>(all.size(), 1));
    client->group.reset();
    if (!out || !out->ok()) return 0;
    EXPECT_EQ((*out)->count + (*out)->failures.size(), 12u);
    for (const auto& failure : (*out)->failures) EXPECT_EQ(failure.rank, 0u) << to_string(failure.code);
    return (*out)->count;
}

TEST(group, who_leaves_in_a_call_tells_its_caller_how_it_has_divided_those_below_it) {
    constexpr int calls = 10;
    int counted_all = 0;
    for (std::uint64_t seed = 25; seed < 25 + calls; ++seed) {
        const std::uint64_t count = count_although_the_first_leaves(seed);
        EXPECT_GE(count, 11u) << seed;
        counted_all += count == 12 ? 1 : 0;
    }
    EXPECT_GE(counted_all, calls / 2);
}

TEST(group, an_all_reduce_gives_the_sum_to_all) {
    SimGroup all(7, 21);
    for (const Microseconds deadline : {Microseconds(10s), no_deadline}) {
        std::vector<int> sums;
        const auto add = [deadline](Group group, std::vector<int>& out) -> Task<void> {
            const int mine = static_cast<int>(group.rank()) + 1;
            auto task = group.all_reduce("sum", mine, group::plus, CollectiveOptions{.deadline = deadline});
            const Result<Reduced<int>> sum = co_await task;
            out.push_back(sum.ok() ? sum->value.value_or(-1) : -2);
        };
        for (std::size_t i = 0; i < 7; ++i) ASSERT_EQ(all[i].node->spawn(add(*all[i].group, sums)), Errc::ok);
        all.run_for(5s);
        EXPECT_EQ(sums, std::vector<int>(7, 28));
    }
}

TEST(group, an_all_reduce_gives_the_least_and_the_greatest_to_all) {
    SimGroup all(7, 25);
    std::vector<std::pair<int, int>> ends;
    const auto find = [](Group group, std::vector<std::pair<int, int>>& out) -> Task<void> {
        const int mine = static_cast<int>(group.rank() * 3 % 7) - 2;  // the least at rank 0, the greatest at rank 2
        auto low = group.all_reduce("least", mine, group::least, ten_seconds);
        const Result<Reduced<int>> least = co_await low;
        auto high = group.all_reduce("greatest", mine, group::greatest, ten_seconds);
        const Result<Reduced<int>> greatest = co_await high;
        out.emplace_back(least.ok() ? least->value.value_or(-9) : -10,
                         greatest.ok() ? greatest->value.value_or(-9) : -10);
    };
    for (std::size_t i = 0; i < 7; ++i) ASSERT_EQ(all[i].node->spawn(find(*all[i].group, ends)), Errc::ok);
    all.run_for(5s);
    EXPECT_EQ(ends, (std::vector<std::pair<int, int>>(7, {-2, 4})));
}

TEST(group, impossible_requests_have_errors) {
    SimGroup all(2, 22);
    EXPECT_EQ(all[0].group->serve(note, [](const std::string&) {}).code(), Errc::exists);
    constexpr Rpc<int(int)> unknown{"test.unknown"};
    EXPECT_EQ(sync_wait(all[0].group->call(unknown, 1, 1, ten_seconds)).code(), Errc::no_such_rpc);
    constexpr Rpc<int(std::string)> other_types{"test.fail_on"};
    EXPECT_EQ(sync_wait(all[0].group->call(other_types, 1, "1", ten_seconds)).code(), Errc::bad_signature);
    const auto reduced = sync_wait(all[0].group->reduce(fail_on, 5, group::plus, ten_seconds)).value();
    ASSERT_EQ(reduced.failures.size(), 1u);
    EXPECT_EQ(reduced.failures[0].rank, 1u);
    EXPECT_EQ(reduced.failures[0].code, Errc::unsupported) << "it was served without a combiner";
    const std::string long_name(300, 'n');
    EXPECT_EQ(sync_wait(all[0].group->barrier(long_name, ten_seconds)).code(), Errc::invalid_argument);
    EXPECT_EQ(Group::create(*all[0].node).code(), Errc::exists) << "one group for each provider";
}

}  // namespace
}  // namespace cinnabar::test
