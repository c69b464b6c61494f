// SPDX-License-Identifier: BSD-3-Clause
// Failure detection on a side loop: a handler that holds the loop of a member's node does not concern it.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Group;
using group::GroupOptions;
using group::Rank;

constexpr Rpc<int(int)> hold{"test.own_loop.hold"};

// Stands for a process.
struct Probed {
    std::unique_ptr<Node> node;
    std::optional<Group> group;

    Probed(const std::vector<std::string>& seeds, bool own_loop) {
        GroupOptions options;
        options.own_loop = own_loop;
        options.swim.period = 50ms;
        options.swim.suspicion_min = 10;
        node = std::make_unique<Node>(Node::listen("tcp://127.0.0.1:0").value());
        group.emplace(
            (seeds.empty() ? Group::create(*node, options) : sync_wait(Group::join(*node, seeds, options))).value());
    }
    // As if the process was killed.
    void die() {
        group.reset();
        node.reset();
    }
    [[nodiscard]] std::vector<std::string> seeds() const { return {node->address()}; }
    [[nodiscard]] bool sees(Rank rank) const {
        const auto view = group->view();
        const group::Member* const member = view.find(rank);
        return member && group::is_present(member->state);
    }
    [[nodiscard]] bool knows(std::size_t members) const {
        return sync_wait(with_deadline(group->wait_for_members(members), 10s)).ok();
    }
};

// Whether it becomes true within 20 s. No task is awaited, since the loop that it needs may be held.
bool comes_true(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

TEST(group_own_loop, a_member_whose_loop_is_held_lives_and_detects_a_death) {
    Probed first({}, true);
    Probed held(first.seeds(), true);
    Probed dying(first.seeds(), true);
    ASSERT_TRUE(first.knows(3) && held.knows(3) && dying.knows(3));
    const Rank gone = dying.group->rank();
    std::promise<void> is_held;
    std::promise<void> let_go;
    const auto wait = [&](int value) {
        is_held.set_value();
        let_go.get_future().wait();
        return value;
    };
    held.node->serve(hold, wait).value();
    auto call = first.node->call(hold, held.node->self_addr(), 7, 60s).future();
    is_held.get_future().wait();
    dying.die();
    EXPECT_TRUE(comes_true([&] { return !first.sees(gone); }));
    EXPECT_TRUE(comes_true([&] { return !held.sees(gone); })) << "its own probes go on";
    EXPECT_TRUE(first.sees(held.group->rank())) << "it answers probes";
    let_go.set_value();
    EXPECT_EQ(call.get().value(), 7);
    held.group->leave();
    first.group->leave();
}

TEST(group_own_loop, members_with_and_without_one_probe_each_other) {
    Probed with({}, true);
    Probed without(with.seeds(), false);
    Probed dying(with.seeds(), true);
    ASSERT_TRUE(with.knows(3) && without.knows(3) && dying.knows(3));
    const Rank gone = dying.group->rank();
    dying.die();
    EXPECT_TRUE(comes_true([&] { return !with.sees(gone) && !without.sees(gone); }));
    EXPECT_TRUE(with.sees(without.group->rank()));
    EXPECT_TRUE(without.sees(with.group->rank()));
    without.group->leave();
    EXPECT_TRUE(comes_true([&] { return !with.sees(1); })) << "a goodbye";
    with.group->leave();
}

}  // namespace
}  // namespace cinnabar::test
