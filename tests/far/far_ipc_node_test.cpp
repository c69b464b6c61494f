// SPDX-License-Identifier: BSD-3-Clause
// Nodes that move device memory: over shm, between processes of one user, one side opens the memory that the other
// shows; over other transports the bytes go through buffers. Both nodes are in one process, and the memory is
// simulated.
#include "far_fixture.hpp"
#include "remote/remote_fixture.hpp"

#include <future>
#include <stop_token>
#include <utility>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using test::MadeUpFar;
using test::Pair;
using test::Way;
using test::way_named;

constexpr Rpc<std::uint64_t(Bulk)> show_it{"show_it"};
constexpr std::size_t ipc_node_bytes = 4 << 20;

// `user` lends memory, so it opens the local memory of `owner`, which makes the transfer.
class FarIpcNode : public testing::Test {
  protected:
    explicit FarIpcNode(const Way& way = way_named("shm")) : nodes_(way) {}
    void serve(bulk::Direction direction, std::stop_token stop = {}) {
        const auto move = [this, direction, stop](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region mine = Region::of_far(local_, Access::read_write).value();
            const TransferOptions options{.deadline = deadline_};
            auto transfer =
                direction == bulk::Direction::pull ? request->pull(mine, options) : request->push(mine, options);
            auto ended = co_await with_stop(std::move(transfer), stop);
            quiet_ = lent_->ended == lent_->entered && lent_->open == 0;
            co_return ended;
        };
        EXPECT_TRUE(nodes_.owner.serve(show_it, move).ok());
    }
    [[nodiscard]] auto call(Microseconds span = 60s) {
        return nodes_.user.call(show_it, nodes_.to, Region::of_far(lent_, Access::read_write).value(), span).future();
    }
    const std::shared_ptr<MadeUpFar> local_ = std::make_shared<MadeUpFar>(ipc_node_bytes, 1);
    const std::shared_ptr<MadeUpFar> lent_ = std::make_shared<MadeUpFar>(ipc_node_bytes, 2);
    std::optional<Microseconds> deadline_;
    std::atomic<bool> quiet_{false};  // whether no copy ran when the transfer ended
    Pair nodes_;
};

TEST_F(FarIpcNode, TheLenderCopiesWhatItIsShown) {
    serve(bulk::Direction::pull);
    EXPECT_EQ(call().get().value_or(0), ipc_node_bytes);
    EXPECT_TRUE(support::holds_pattern(local_->memory(), 2));
    EXPECT_EQ(local_->shown, 1);
    EXPECT_EQ(lent_->opens, 1);
    EXPECT_EQ(lent_->entered, 1);
    EXPECT_EQ(local_->entered, 0);
    EXPECT_TRUE(quiet_);
}

TEST_F(FarIpcNode, TheLenderReadsWhatItIsShown) {
    serve(bulk::Direction::push);
    EXPECT_EQ(call().get().value_or(0), ipc_node_bytes);
    EXPECT_TRUE(support::holds_pattern(lent_->memory(), 1));
    EXPECT_EQ(lent_->opens, 1);
}

TEST_F(FarIpcNode, WhatCannotBeOpenedGoesThroughBuffers) {
    lent_->open_fails = Errc::unsupported;
    serve(bulk::Direction::pull);
    EXPECT_EQ(call().get().value_or(0), ipc_node_bytes);
    EXPECT_TRUE(support::holds_pattern(local_->memory(), 2));
    EXPECT_EQ(local_->shown, 1);
    EXPECT_GT(local_->entered, 1);
}

TEST_F(FarIpcNode, TheErrorOfACopyIsTold) {
    lent_->fail_after(0, Errc::io);
    serve(bulk::Direction::pull);
    EXPECT_EQ(call().get().code(), Errc::io);
    EXPECT_TRUE(quiet_);
}

// The copy takes longer than fence_grace.
TEST_F(FarIpcNode, AStoppedPushEndsWhenTheLenderHasLetGo) {
    std::stop_source stop;
    lent_->take_long(300ms, [&stop] { stop.request_stop(); });
    serve(bulk::Direction::push, stop.get_token());
    EXPECT_EQ(call().get().code(), Errc::canceled);
    EXPECT_TRUE(quiet_);
}

TEST_F(FarIpcNode, AStoppedPullEndsWhenTheLenderHasLetGo) {
    std::stop_source stop;
    lent_->take_long(300ms, [&stop] { stop.request_stop(); });
    serve(bulk::Direction::pull, stop.get_token());
    EXPECT_EQ(call().get().code(), Errc::canceled);
    EXPECT_TRUE(quiet_);
}

TEST_F(FarIpcNode, OneWithADeadlineEndsWhenTheLenderHasLetGo) {
    deadline_ = 50ms;
    lent_->take_long(400ms);
    serve(bulk::Direction::push);
    EXPECT_EQ(call().get().code(), Errc::timed_out);
    EXPECT_TRUE(quiet_);
}

TEST_F(FarIpcNode, TheLendersCallEndsWhenTheCopyHas) {
    lent_->take_long(300ms);
    serve(bulk::Direction::pull);
    auto pending = call();
    lent_->await_begin();
    pending.cancel();
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    EXPECT_EQ(lent_->ended, lent_->entered);
    EXPECT_EQ(lent_->open, 0);
}

TEST_F(FarIpcNode, AClosingNodeWaitsForTheLender) {
    lent_->take_long(100ms);
    serve(bulk::Direction::push);
    auto pending = call();
    lent_->await_begin();
    { const Node gone(std::move(nodes_.owner)); }
    EXPECT_EQ(lent_->ended, lent_->entered);
    EXPECT_EQ(lent_->open, 0);
    EXPECT_NE(pending.get().code(), Errc::ok);
}

TEST_F(FarIpcNode, AClosingLenderWaitsForItsCopy) {
    lent_->take_long(100ms);
    serve(bulk::Direction::push);
    auto pending = call();
    lent_->await_begin();
    { const Node gone(std::move(nodes_.user)); }
    EXPECT_EQ(lent_->ended, lent_->entered);
    EXPECT_EQ(lent_->open, 0);
    EXPECT_NE(pending.get().code(), Errc::ok);
}

class FarIpcElsewhere : public FarIpcNode, public testing::WithParamInterface<const char*> {
  protected:
    FarIpcElsewhere() : FarIpcNode(way_named(GetParam())) {}
};

TEST_P(FarIpcElsewhere, NobodyIsShownAnything) {
    serve(bulk::Direction::pull);
    EXPECT_EQ(call().get().value_or(0), ipc_node_bytes);
    EXPECT_TRUE(support::holds_pattern(local_->memory(), 2));
    EXPECT_EQ(local_->shown, 0);
    EXPECT_EQ(lent_->opens, 0);
}

INSTANTIATE_TEST_SUITE_P(Over, FarIpcElsewhere, testing::Values("tcp", "tcps", "self", "sim"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace cinnabar
