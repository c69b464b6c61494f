// SPDX-License-Identifier: BSD-3-Clause
// The memory that a member needs for each other one that it knows, counted by the heap. The others do not exist:
// requests to join are made by hand, each with an address of its own, and nobody is pinged.
#include "support/heap_in_use.hpp"
#include "support/sanitizers.hpp"
#include "wire.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Rank;

constexpr Rank known_before = 500;
constexpr Rank counted = 2'000;

// The group of one real member, which others join that do not exist.
class MemoryOfGroup : public ::testing::Test {
  protected:
    // The ranks from the next one to `last`.
    void add_members_to(Rank last) {
        for (; last_ < last; ++last_) {
            group::JoinRequest request;
            request.name = "group";
            request.process = last_ + 1;
            const std::string host = "10.0." + std::to_string(last_ / 256) + '.' + std::to_string(last_ % 256);
            request.address = na::Addr::parse("tcp://" + host + ":4000").value();
            ASSERT_EQ(client_.call(group::join_rpc, at_, request, 1s).wait().value().rank, last_ + 1);
        }
    }
    static group::GroupOptions quiet() {
        group::GroupOptions options;
        options.seed = 1;
        options.swim.period = std::chrono::hours(1);
        return options;
    }

    std::shared_ptr<sim::World> world_ = sim::World::numbered(20'300, {.seed = 30});
    Node node_ = Node::listen("sim://one?world=20300").value();
    Node client_ = Node::open("sim://client?world=20300").value();
    na::Addr at_ = client_.lookup("sim://one").value();
    group::Group group_ = group::Group::create(node_, quiet()).value();
    Rank last_ = 0;
};

TEST_F(MemoryOfGroup, a_member_that_is_known_takes_less_than_192_bytes) {
    add_members_to(known_before);
    EXPECT_EQ(group_.view().present().size(), known_before + 1);  // a view is kept until it changes
    const std::size_t before = support::heap_bytes_in_use();
    add_members_to(known_before + counted);
    EXPECT_EQ(group_.view().present().size(), known_before + counted + 1);
    const double each = static_cast<double>(support::heap_bytes_in_use() - before) / counted;
    // Under a sanitizer, whose heap is not counted, this finds misuse of memory only.
    if (!support::sanitized) {
        EXPECT_GT(each, 0);
    }
    EXPECT_LT(each, 192) << "bytes, with the view and what gossip has still to tell of it";
}

}  // namespace
}  // namespace cinnabar::test
