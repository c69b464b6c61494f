// SPDX-License-Identifier: BSD-3-Clause
// What members and clients see of a group: labels, the stream of events, and the view that a client follows.
#include "sim_group.hpp"

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Event;
using group::Group;
using group::Happened;
using group::Rank;
using group::State;

TEST(view, labels_of_each_member_are_seen_by_members_and_clients) {
    auto world = sim::World::numbered(20'070, {.seed = 70});
    const group::Labels of_first{{"disk", "ssd"}, {"zone", "a"}};
    const group::Labels of_second{{"zone", "b"}};
    Node one = Node::listen("sim://l0?world=20070").value();
    Node two = Node::listen("sim://l1?world=20070").value();
    Node three = Node::open("sim://l2?world=20070").value();
    group::GroupOptions options;
    options.seed = 70;
    options.labels = of_first;
    const Group first = Group::create(one, options).value();
    options.seed = 71;
    options.labels = of_second;
    const Group second = sync_wait(Group::join(two, {"sim://l0"}, options)).value();
    options.seed = 72;
    options.labels = {};
    const Group client = sync_wait(Group::follow(three, {"sim://l1"}, options)).value();
    for (const Group* each : {&first, &second, &client}) {
        ASSERT_TRUE(sync_wait(with_deadline(each->wait_for_members(2), 10s)).ok());
        const group::View seen = each->view();
        EXPECT_EQ(seen.find(0)->labels(), of_first);
        EXPECT_EQ(seen.find(1)->labels(), of_second);
    }
}

TEST(view, joins_and_departures_are_events_at_members_and_clients) {
    SimGroup all(4, 71);
    auto client = all.client();
    group::Events of_member = all[0].group->events();
    group::Events of_client = client->group->events();
    EXPECT_EQ(all.add().group->rank(), 4u);
    all.run_for(2s);
    all.leave(all[2]);
    all.run_for(2s);
    for (group::Events* events : {&of_member, &of_client}) {
        const Event joined = sync_wait(with_deadline(events->next(), 1s)).value();
        EXPECT_EQ(joined.happened, Happened::joined);
        EXPECT_EQ(joined.rank, 4u);
        EXPECT_EQ(joined.incarnation, 1u);
        const Event left = sync_wait(with_deadline(events->next(), 1s)).value();
        EXPECT_EQ(left.happened, Happened::left);
        EXPECT_EQ(left.rank, 2u);
        EXPECT_GT(left.stamp.version, joined.stamp.version);
    }
    EXPECT_TRUE(client->group->view().stamp() == all[0].group->view().stamp());
}

// Whichever of the first members the client follows, it dies.
TEST(view, a_client_follows_another_member_when_the_one_that_it_follows_dies) {
    SimGroup all(3, 72);
    auto client = all.client();
    const auto learns_of_death = [&](std::size_t member) {
        const Rank rank = all[member].group->rank();
        all.kill(all[member]);
        for (int second = 0; second < 120; ++second) {
            all.run_for(1s);
            const group::View seen = client->group->view();
            if (seen.find(rank)->state == State::excluded) return true;
        }
        return false;
    };
    EXPECT_TRUE(learns_of_death(1));
    EXPECT_TRUE(learns_of_death(2));
    SimMember& last = all.add();
    EXPECT_TRUE(sync_wait(with_deadline(client->group->wait_for_members(2), 60s)).ok());
    EXPECT_TRUE(learns_of_death(0));
    const Rank rank = last.group->rank();
    EXPECT_EQ(sync_wait(client->group->call(give_rank, rank, 1, {.deadline = 10s})).value(), rank + 1);
}

}  // namespace
}  // namespace cinnabar::test
