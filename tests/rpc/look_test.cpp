// SPDX-License-Identifier: BSD-3-Clause
// Snapshots of calls: a stuck call is found in each phase, and calls to many peers are found in one walk.
#include "support/fault_transport.hpp"
#include "support/pump.hpp"

#include <cinnabar/plugins/sim.hpp>
#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

constexpr RpcId hold_id = rpc_id("hold");
constexpr RpcId large_id = rpc_id("large");
constexpr std::size_t large_bytes = 100'000;

class Look : public ::testing::Test {
  protected:
    struct Side {
        std::unique_ptr<na::Transport> inner;
        std::shared_ptr<support::FaultTransport> network;
        std::unique_ptr<Engine> engine;
        std::unique_ptr<Context> context;
    };

    Look() {
        options_.context.threads = ThreadUse::one;
        options_.handler_time_max = Microseconds{0};
    }
    ~Look() override {
        for (Side* side : {&origin_, &target_}) {
            if (side->network) side->network->faults() = {};
        }
        answer_all();
        EXPECT_TRUE(until([&] {
            answer_all();
            return ended_ == made_;
        })) << "a call has not ended";
    }

    void open(Side& side, const char* name, const na::TransportOptions& options = {}) {
        side.inner = world_->open(name, options).value();
        side.network = std::make_shared<support::FaultTransport>(*side.inner);
        side.engine = Engine::open({side.network}).value();
        side.context = side.engine->open_context(options_).value();
    }
    void open_both(const na::TransportOptions& of_origin = {}) {
        open(target_, "target", {.listen = true});
        serve_hold(target_);
        serve(target_, large_id, "large", [](Request& request, void*) noexcept {
            Bytes room;
            EXPECT_EQ(request.grow_output(large_bytes, room), Errc::ok);
            request.respond(large_bytes);
            request.release();
        });
        open(origin_, "origin", of_origin);
    }
    void serve_hold(Side& side) {
        serve(side, hold_id, "hold", [](Request& request, void* user) noexcept {
            request.begins(request.context().now_us());
            static_cast<Look*>(user)->held_.push_back(&request);
        });
    }
    void serve(Side& side, RpcId id, const char* name, void (*run)(Request&, void*) noexcept) {
        Handler handler;
        handler.name = name;
        handler.target = std::shared_ptr<void>(this, [](void*) {});
        handler.run = run;
        ASSERT_TRUE(side.engine->serve(id, 0, std::move(handler)).ok());
    }

    void call(RpcId rpc, std::size_t bytes = 0, const Side* to = nullptr) {
        Errc why = Errc::ok;
        Call* const call = origin_.context->make_call((to ? *to : target_).context->self_addr(), why);
        ASSERT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc;
        call->began_us = world_->now_us();
        Bytes room;
        if (bytes > call->input_room().size()) {
            ASSERT_EQ(call->grow_input(bytes, room), Errc::ok);
        }
        const auto end = [](Call& over, void* user) noexcept {
            ++static_cast<Look*>(user)->ended_;
            EXPECT_EQ(over.result(), Errc::ok) << to_string(over.result());
            over.release();
        };
        ASSERT_EQ(call->forward(bytes, end, this), Errc::ok);
        ++made_;
    }
    // Makes a call, which connects both sides, and waits until its handler runs.
    void call_until_held() {
        call(hold_id);
        ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    }
    void answer_all() {
        for (Request* request : std::exchange(held_, {})) {
            request->respond(0);
            request->release();
        }
    }

    [[nodiscard]] bool until(const std::function<bool()>& done) {
        support::Pump pump(world_.get());
        for (const Side* side : {&origin_, &target_}) {
            if (side->context) pump.add(side->context->na());
        }
        for (const Side& side : more_) pump.add(side.context->na());
        return pump.until(done, std::chrono::seconds(20));
    }
    // Drives only one side: its transport and timers. No handler runs.
    void progress(Side& side, Microseconds passes = Microseconds{0}) {
        world_->run_to(after(world_->now_us(), passes));
        (void)side.context->progress(Microseconds{0});
    }

    static std::vector<CallSnapshot> look(const Side& side, std::size_t page_size = 64) {
        std::vector<CallSnapshot> all;
        std::vector<CallSnapshot> page(page_size);
        LookCursor cursor;
        while (!cursor.over) {
            const unsigned count = side.context->look_at_calls(cursor, page);
            all.insert(all.end(), page.begin(), page.begin() + count);
        }
        return all;
    }
    // Whether `side` has such a call in that phase.
    static testing::AssertionResult shows(const Side& side, bool as_target, RpcId rpc, CallPhase phase) {
        std::string others;
        for (const CallSnapshot& call : look(side)) {
            if (call.as_target == as_target && call.rpc == rpc && call.phase == phase) {
                if (call.scheme == "sim") return testing::AssertionSuccess();
                others += " of no transport";
            }
            others.append(call.as_target ? " in: " : " out: ").append(to_string(call.phase));
        }
        return testing::AssertionFailure() << "not " << to_string(phase) << ", but" << others;
    }

    std::shared_ptr<sim::World> world_ = sim::World::make({});
    Options options_;
    Side origin_;
    Side target_;
    std::deque<Side> more_;  // further targets
    std::vector<Request*> held_;
    unsigned made_ = 0;
    unsigned ended_ = 0;
};

TEST_F(Look, Connecting) {
    open_both();
    call(hold_id);
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::connecting));
}

TEST_F(Look, WaitingForACredit) {
    options_.context.initial_credits = 1;
    options_.credits_per_peer_max = 1;
    open_both();
    call_until_held();
    for (int i = 0; i < 3; ++i) call(hold_id);
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::waits_for_credit));
    const auto calls = look(origin_, 1);
    ASSERT_EQ(calls.size(), 4u);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i].ahead, i) << "they stand in their order";
    EXPECT_EQ(calls[3].phase, CallPhase::sent);
}

TEST_F(Look, BothSidesShowTheBytesOfTheArguments) {
    open_both();
    call(hold_id, 40);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    for (const Side* side : {&origin_, &target_}) {
        const auto calls = look(*side);
        ASSERT_EQ(calls.size(), 1u);
        EXPECT_EQ(calls[0].bytes, 40u);
    }
}

TEST_F(Look, CountsTheBytesOfAPeer) {
    open_both();
    const auto peer_of = [](const Side& side) {
        std::vector<PeerSnapshot> page(4);
        LookCursor cursor;
        EXPECT_EQ(side.context->look_at_peers(cursor, page), 1u);
        return page.front();
    };
    const auto agree = [&] {
        const PeerSnapshot origin = peer_of(target_);
        const PeerSnapshot target = peer_of(origin_);
        return target.bytes_sent == origin.bytes_received && target.bytes_received == origin.bytes_sent;
    };
    call_until_held();
    EXPECT_GT(peer_of(origin_).bytes_sent, 0u);
    answer_all();
    ASSERT_TRUE(until([&] { return ended_ == made_; }));
    EXPECT_GT(peer_of(origin_).bytes_received, 0u);
    EXPECT_TRUE(until(agree)) << "what one side sends, the other one receives";

    // The side that moves large values counts them.
    call(hold_id, large_bytes);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    EXPECT_GE(peer_of(target_).bytes_received, large_bytes);
    EXPECT_LT(peer_of(origin_).bytes_sent, large_bytes);
    answer_all();
    call(large_id);
    ASSERT_TRUE(until([&] { return ended_ == made_; }));
    EXPECT_GE(peer_of(origin_).bytes_received, large_bytes);
    EXPECT_LT(peer_of(target_).bytes_sent, large_bytes);
}

TEST_F(Look, WaitingForASlotForTheReply) {
    options_.context.initial_credits = 64;
    open_both({.receive_slots = 16});
    call_until_held();
    for (int i = 0; i < 32; ++i) call(hold_id);
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::waits_for_reply_slot));
}

TEST_F(Look, WaitingForRoom) {
    open_both();
    call_until_held();
    origin_.network->faults().again_one_in = 1;
    call(hold_id);
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::waits_for_room));
}

TEST_F(Look, Sending) {
    open_both();
    call_until_held();
    origin_.network->faults().late_polls = 1'000;
    call(hold_id);
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::sending));
}

TEST_F(Look, InItsHandlerWhereItWasSent) {
    open_both();
    call_until_held();
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::sent));
    EXPECT_TRUE(shows(target_, true, hold_id, CallPhase::in_handler));
    progress(target_, Microseconds{3'000'000});
    const auto held = look(target_);
    ASSERT_EQ(held.size(), 1u);
    EXPECT_NEAR(static_cast<double>(world_->now_us() - held[0].began_us), 3e6, 4'000);
}

TEST_F(Look, WaitingForItsHandler) {
    open_both();
    call_until_held();
    call(hold_id);
    for (int i = 0; i < 10; ++i) {
        progress(origin_);
        progress(target_, Microseconds{100});
    }
    EXPECT_TRUE(shows(target_, true, hold_id, CallPhase::waits_for_handler));
    EXPECT_TRUE(shows(origin_, false, hold_id, CallPhase::sent));
    progress(target_, Microseconds{3'000'000});
    for (const CallSnapshot& held : look(target_)) {
        if (held.phase != CallPhase::waits_for_handler) continue;
        EXPECT_NEAR(static_cast<double>(world_->now_us() - held.began_us), 3e6, 4'000);
    }
}

TEST_F(Look, FetchingArguments) {
    open_both();
    call_until_held();
    call(hold_id, large_bytes);
    for (int i = 0; i < 10 && !shows(target_, true, hold_id, CallPhase::fetching); ++i) {
        progress(origin_);
        progress(target_, Microseconds{10});
    }
    EXPECT_TRUE(shows(target_, true, hold_id, CallPhase::fetching));
}

TEST_F(Look, FetchingAResult) {
    open_both();
    call_until_held();
    call(large_id);
    for (int i = 0; i < 1'000 && !shows(origin_, false, large_id, CallPhase::fetching); ++i) {
        progress(origin_);
        progress(target_, Microseconds{2});
        (void)target_.context->trigger(16);
    }
    EXPECT_TRUE(shows(origin_, false, large_id, CallPhase::fetching));
}

TEST_F(Look, AnsweredWhatHasNotLeft) {
    open_both();
    call_until_held();
    target_.network->faults().again_one_in = 1;
    answer_all();
    EXPECT_TRUE(shows(target_, true, hold_id, CallPhase::answered));
}

// Calls to a hundred peers, one each, listed in pages of a few: each call appears once.
TEST_F(Look, SentToManyPeersIsOneWalk) {
    constexpr std::size_t peers = 100;
    open_both();
    for (std::size_t i = 0; i < peers; ++i) {
        Side& peer = more_.emplace_back();
        open(peer, ("peer" + std::to_string(i)).c_str(), {.listen = true});
        serve_hold(peer);
        call(hold_id, 0, &peer);
    }
    ASSERT_TRUE(until([&] { return held_.size() == peers; }));
    for (const std::size_t page : {1u, 7u, 64u}) {
        const auto calls = look(origin_, page);
        EXPECT_EQ(calls.size(), peers);
        std::set<CallId> ids;
        std::set<std::string> to;
        for (const CallSnapshot& each : calls) {
            EXPECT_EQ(each.phase, CallPhase::sent);
            ids.insert(each.id);
            to.insert(each.peer.to_string());
        }
        EXPECT_EQ(ids.size(), peers) << "one is there twice";
        EXPECT_EQ(to.size(), peers);
    }
}

}  // namespace
}  // namespace cinnabar::rpc
