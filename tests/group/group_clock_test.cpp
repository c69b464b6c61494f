// SPDX-License-Identifier: BSD-3-Clause
// The hybrid logical clock of a group whose hosts have different times of day.
#include "sim_group.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/group/timed.hpp>

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Group;
using group::Happened;
using group::HybridTime;

constexpr std::uint64_t noon_us = 1'700'000'000'000'000;

Task<void> collect(group::Events events, std::vector<group::Event>& out) {
    for (;;) {
        auto next = events.next();
        const auto event = co_await next;
        if (!event) co_return;
        out.push_back(*event);
    }
}

// Three members in a separate simulated world, each with a clock that can be set.
class GroupClock : public testing::Test {
  protected:
    std::shared_ptr<sim::World> world_ = sim::World::numbered(20'040, {.seed = 40});
    std::array<std::uint64_t, 3> walls_{noon_us, noon_us, noon_us};
    std::vector<Node> nodes_;
    std::vector<Group> groups_;
    bool uses_group_ = false;  // the clock of the first member does

    GroupClock() {
        for (unsigned i = 0; i < 3; ++i) {
            nodes_.push_back(Node::listen("sim://c" + std::to_string(i) + "?world=20040").value());
            group::GroupOptions options;
            options.seed = 40 + i;
            options.swim.period = 100ms;
            options.clock.wall_us = [this, i] {
                if (i == 0 && uses_group_) (void)groups_[0].view();
                return walls_[i];
            };
            groups_.push_back(i == 0 ? Group::create(nodes_[0], options).value()
                                     : sync_wait(Group::join(nodes_[i], {"sim://c0"}, options)).value());
        }
        for (const Group& each : groups_) EXPECT_TRUE(sync_wait(with_deadline(each.wait_for_members(3), 10s)).ok());
    }
    ~GroupClock() override { groups_.clear(); }
};

TEST_F(GroupClock, a_handler_runs_later_than_what_its_caller_did_and_earlier_than_what_it_does_then) {
    const auto tell = [this] { return groups_[1].clock().now().bits(); };
    groups_[1].serve(Rpc<std::uint64_t()>("time"), tell).value();
    for (const std::int64_t differs : {500'000, -500'000}) {
        walls_[1] = noon_us + static_cast<std::uint64_t>(differs);
        const HybridTime before = groups_[0].clock().now();
        const HybridTime in_handler(sync_wait(groups_[0].call(Rpc<std::uint64_t()>("time"), 1)).value());
        EXPECT_GT(in_handler, before);
        EXPECT_GT(groups_[0].clock().now(), in_handler);
    }
    walls_[2] = noon_us + 400'000;
    (void)nodes_[0].run_for(2s);
    EXPECT_GE(groups_[0].clock().now(), HybridTime::at(noon_us + 400'000)) << "gossip carries times as well";
}

TEST_F(GroupClock, plain_calls_carry_times_if_their_contract_says_so) {
    using TimedInt = group::Timed<int>;
    constexpr Rpc<TimedInt(TimedInt)> add_one{"time.add_one"};
    bool heard = false;
    const auto add = [this, &heard](const TimedInt& in) {
        heard = group::hear(groups_[1].clock(), in);
        return group::timed(groups_[1].clock(), in.value + 1);
    };
    nodes_[1].serve(add_one, add).value();
    walls_[0] = noon_us + 500'000;
    const TimedInt one = group::timed(groups_[0].clock(), 1);
    const auto two = nodes_[0].call(add_one, nodes_[1].self_addr(), one, 10s).wait();
    ASSERT_TRUE(two.ok()) << two.error().message();
    EXPECT_TRUE(heard);
    EXPECT_EQ(two->value, 2);
    EXPECT_GT(two->time, one.time) << "although the clock of that host is behind";
    EXPECT_TRUE(group::hear(groups_[0].clock(), *two));
    EXPECT_GT(groups_[0].clock().now().bits(), two->time);
    const TimedInt wrong{1, HybridTime::at(noon_us + 10'000'000).bits()};
    const auto answered = nodes_[0].call(add_one, nodes_[1].self_addr(), wrong, 10s).wait();
    EXPECT_TRUE(answered.ok() && answered->value == 2) << "the call is carried out";
    EXPECT_FALSE(heard);
}

TEST_F(GroupClock, a_clock_that_is_too_far_ahead_is_told_once_and_ignored) {
    support::LogWatch log;
    log.allow("the clock of member 2 is 10000 ms ahead of this host's");
    log.allow("the clock of a caller is");
    std::vector<group::Event> events;
    (void)nodes_[0].spawn(collect(groups_[0].events(), events));
    walls_[2] = noon_us + 10'000'000;
    uses_group_ = true;
    (void)nodes_[0].run_for(3s);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].happened, Happened::drifted);
    EXPECT_EQ(events[0].rank, 2u);
    EXPECT_LT(groups_[0].clock().now().wall_us(), noon_us + 1'000'000);
    EXPECT_EQ(groups_[0].view().present().size(), 3u) << "it is a member like the others";
    EXPECT_GT(log.allowed(), 0u);
    EXPECT_NE(log.allowed_fields().find(" ahead_us=10"), std::string::npos) << log.allowed_fields();
    walls_[0] = walls_[1] = walls_[2] = noon_us + 11'000'000;  // the others have caught up
    (void)nodes_[0].run_for(1s);
    walls_[2] += 10'000'000;
    (void)nodes_[0].run_for(3s);
    EXPECT_EQ(events.size(), 2u) << "again, after it was right";
    uses_group_ = false;
}

}  // namespace
}  // namespace cinnabar::test
