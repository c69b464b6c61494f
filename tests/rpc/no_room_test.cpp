// SPDX-License-Identifier: BSD-3-Clause
// A target without slots for requests: no origin waits for an answer that never comes, and no credit is lost.
#include "support/fault_transport.hpp"
#include "support/log_watch.hpp"
#include "support/pump.hpp"

#include <cinnabar/plugins/sim.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr unsigned many = 6'000;  // more than are refused at once

class NoRoom : public ::testing::Test {
  protected:
    struct Side {
        std::shared_ptr<na::Transport> transport;
        std::unique_ptr<Engine> engine;
        std::unique_ptr<Context> context;
    };
    using Results = std::map<Errc, unsigned>;

    NoRoom() {
        for (Side* side : {&origin_, &other_}) {
            side->transport = world_->open(side == &origin_ ? "origin" : "other", {.receive_slots = 65'536}).value();
            open(*side);
        }
        inner_ = world_->open("target", {.listen = true, .receive_slots = 65'536}).value();
        network_ = std::make_shared<support::FaultTransport>(*inner_);
        target_.transport = network_;
        open(target_);
        for (Side* side : {&origin_, &other_}) {
            Results connected;
            call(*side, time_never, connected);
            wait_for(connected, 1);
        }
    }
    void open(Side& side) {
        side.engine = Engine::open({side.transport}).value();
        Options options;
        options.context.threads = ThreadUse::one;
        options.context.initial_credits = many;
        options.credits_per_peer_max = many;
        options.requests_held_max = 2;
        side.context = side.engine->open_context(options).value();
    }

    void call(Side& from, TimeUs deadline, Results& results) {
        Errc why = Errc::ok;
        Call* const call = from.context->make_call(target_.context->self_addr(), why);
        ASSERT_NE(call, nullptr);
        call->args.rpc = rpc_id("nobody");
        call->args.deadline = deadline;
        const auto ended = [](Call& over, void* all) noexcept {
            ++(*static_cast<Results*>(all))[over.result()];
            over.release();
        };
        ASSERT_EQ(call->forward(0, ended, &results), Errc::ok);
    }
    // Makes as many calls as there are credits. The target does not read them yet.
    void call_many(Side& from, TimeUs deadline, Results& results) {
        for (unsigned i = 0; i < many; ++i) call(from, deadline, results);
        sent_ += many;
    }
    // The target reads everything that was sent, but no reply is sent.
    void fill_the_target() {
        network_->faults().again_one_in = 1;
        const std::uint64_t all = network_->faults().arrivals + std::exchange(sent_, 0);
        while (network_->faults().arrivals < all) {
            for (const Side* side : {&origin_, &other_}) (void)side->context->progress(Microseconds{0});
            pass(Microseconds{100});
            (void)target_.context->progress(Microseconds{0});
        }
    }
    void pass(Microseconds span) { world_->run_to(after(world_->now_us(), span)); }
    void wait_for(const Results& results, unsigned count) {
        support::Pump pump(world_.get());
        for (const Side* side : {&origin_, &other_, &target_}) pump.add(side->context->na());
        ASSERT_TRUE(pump.until([&] { return ended(results) == count; }));
    }
    [[nodiscard]] static unsigned ended(const Results& results) {
        unsigned all = 0;
        for (const auto& [result, count] : results) all += count;
        return all;
    }

    support::LogWatch log_;
    std::shared_ptr<sim::World> world_ = sim::World::make({});
    std::uint64_t sent_ = 0;
    std::unique_ptr<na::Transport> inner_;
    std::shared_ptr<support::FaultTransport> network_;
    Side target_;
    Side origin_;
    Side other_;
};

TEST_F(NoRoom, ARefusedRequestEndsAtOnce) {
    for (const TimeUs deadline : {time_never, world_->now_us() + 60'000'000}) {
        Side& from = deadline == time_never ? origin_ : other_;
        Results results;
        call_many(from, deadline, results);
        fill_the_target();
        network_->faults().again_one_in = 0;
        wait_for(results, many);
        EXPECT_EQ(results[Errc::no_such_rpc] + results[Errc::overloaded], many);
        EXPECT_GT(results[Errc::overloaded], 0u) << "there was room for all";
        EXPECT_EQ(target_.context->counts().requests, 0u);
    }
}

// All credits of `other_` were spent on requests for which there is no slot.
TEST_F(NoRoom, ARefusedRequestsCreditComesBack) {
    Results first;
    Results refused;
    Results again;
    call_many(origin_, world_->now_us() + 3'000'000, first);
    fill_the_target();
    call_many(other_, world_->now_us() + 3'000'000, refused);
    fill_the_target();
    network_->faults().again_one_in = 0;
    wait_for(first, many);
    wait_for(refused, many);
    EXPECT_EQ(target_.context->counts().requests, 0u);
    call(other_, world_->now_us() + 5'000'000, again);
    wait_for(again, 1);
    EXPECT_EQ(again[Errc::no_such_rpc], 1u) << "the connection has no credit any more";
    EXPECT_EQ(refused[Errc::overloaded], many);
}

// Unsent replies to `origin_` hold all slots, so the requests of `other_` find none.
TEST_F(NoRoom, WhoDoesNotTakeItsRepliesPays) {
    log_.allow("does not read its replies");
    Results debtor;
    Results neighbour;
    call_many(origin_, time_never, debtor);
    fill_the_target();
    for (unsigned i = 0; i < 100; ++i) call(other_, time_never, neighbour);
    sent_ = 100;
    fill_the_target();
    for (int i = 0; i < 20 && target_.context->counts().requests != 0; ++i) {
        pass(Microseconds{20'000});
        (void)target_.context->progress(Microseconds{0});
        (void)target_.context->trigger(1024);
    }
    EXPECT_EQ(target_.context->counts().requests, 0u);
    network_->faults().again_one_in = 0;
    wait_for(debtor, many);
    wait_for(neighbour, 100);
    EXPECT_EQ(neighbour[Errc::overloaded], 100u);
    EXPECT_EQ(debtor[Errc::peer_lost], many);
}

}  // namespace
}  // namespace cinnabar::rpc
