// SPDX-License-Identifier: BSD-3-Clause
// Fences that take time, and what a context that is closed meanwhile owes its calls. Both sides share one transport,
// which returns `again` when leases are revoked.
#include "support/fault_transport.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

namespace cinnabar::rpc {
namespace {

struct Outcome {
    int count = 0;
    Errc result = Errc::again;
    bool fenced = false;

    static void take(Call& call, void* user) noexcept {
        auto& outcome = *static_cast<Outcome*>(user);
        ++outcome.count;
        outcome.result = call.result();
        outcome.fenced = call.fenced();
        call.release();
    }
};

class LateFence : public ::testing::Test {
  protected:
    LateFence() : memory_(10'000) {
        na::Registry registry;
        add_builtin(registry);
        inner_ = registry.open("self://", {}).value();
        network_ = std::make_shared<support::FaultTransport>(*inner_);
        engine_ = Engine::open({network_}).value();
        target_ = open(0);
        origin_ = open(1);
        Handler handler;
        handler.name = "hold";
        handler.target = std::shared_ptr<void>(&held_, [](void*) {});
        handler.run = [](Request& request, void* held) noexcept {
            request.detach();
            static_cast<std::vector<Request*>*>(held)->push_back(&request);
        };
        EXPECT_TRUE(engine_->serve(rpc_id("hold"), 0, std::move(handler)).ok());
    }
    ~LateFence() override {
        for (Request* request : held_) request->release();
        held_.clear();
        pump(10);
        origin_.reset();
        target_.reset();
        while (network_->poll_fences() != 0) {
        }
        engine_.reset();
        // Memory that is still lent holds its registration, which holds the transport.
        EXPECT_EQ(network_.use_count(), 1);
    }

    [[nodiscard]] std::unique_ptr<Context> open(na::ContextId id) {
        Options options;
        options.context.threads = ThreadUse::one;
        options.context.id = id;
        options.fence_grace = Microseconds{20'000};
        return engine_->open_context(options).value();
    }
    void pump(int rounds) {
        for (int i = 0; i < rounds; ++i) {
            for (Context* context : {origin_.get(), target_.get()}) {
                if (!context) continue;
                (void)context->progress(Microseconds{0});
                (void)context->trigger(64);
            }
        }
    }
    // Makes, but does not send, a call that lends memory_.
    [[nodiscard]] Call* lend(std::size_t& bytes) {
        Errc why = Errc::ok;
        Call* call = origin_->make_call(target_->self_addr(), why);
        if (!call) return nullptr;
        call->args.rpc = rpc_id("hold");
        ByteWriter writer(call->input_room());
        const auto region = bulk::Region::expose(Bytes(memory_), na::Access::write);
        EXPECT_EQ(call->lend(*region, na::Access::write, writer), Errc::ok);
        bytes = writer.size();
        return call;
    }
    [[nodiscard]] bool send(Outcome& outcome) {
        std::size_t bytes = 0;
        Call* call = lend(bytes);
        if (!call || call->forward(bytes, &Outcome::take, &outcome) != Errc::ok) return false;
        for (int i = 0; i < 1000 && held_.empty(); ++i) pump(1);
        return !held_.empty();
    }

    // The call is answered, but the lease on its memory is still being revoked.
    void answer_with_a_late_fence(Outcome& outcome) {
        ASSERT_TRUE(send(outcome));
        network_->faults().late_fences = 100;
        held_.front()->respond(0);
        for (int i = 0; i < 1000 && network_->fences() == 0; ++i) pump(1);
        ASSERT_EQ(network_->fences(), 1u);
    }

    std::vector<std::byte> memory_;
    std::vector<Request*> held_;
    std::unique_ptr<na::Transport> inner_;
    std::shared_ptr<support::FaultTransport> network_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Context> target_;
    std::unique_ptr<Context> origin_;
};

TEST_F(LateFence, HoldsTheCompletionBack) {
    Outcome outcome;
    ASSERT_NO_FATAL_FAILURE(answer_with_a_late_fence(outcome));
    EXPECT_EQ(outcome.count, 0);
    for (int i = 0; i < 1000 && outcome.count == 0; ++i) pump(1);
    EXPECT_EQ(network_->fences(), 0u);
    EXPECT_EQ(outcome.count, 1);
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_TRUE(outcome.fenced);
}

// The transport reports the end of the fence to the context that polls first, but the call belongs to the other
// context, which another thread may drive.
TEST_F(LateFence, EndsInItsOwnContextWhicheverLooks) {
    Outcome outcome;
    ASSERT_NO_FATAL_FAILURE(answer_with_a_late_fence(outcome));
    for (int i = 0; i < 1000 && network_->fences() != 0; ++i) (void)target_->progress(Microseconds{0});
    (void)target_->progress(Microseconds{0});
    ASSERT_EQ(network_->fences(), 0u);
    (void)origin_->trigger(64);
    EXPECT_EQ(outcome.count, 0);
    for (int i = 0; i < 1000 && outcome.count == 0; ++i) pump(1);
    EXPECT_EQ(outcome.count, 1);
    EXPECT_TRUE(outcome.fenced);
}

TEST_F(LateFence, OfACallThatWasNeverSentGivesItsMemoryBack) {
    network_->faults().late_fences = 5;
    std::size_t bytes = 0;
    Call* call = lend(bytes);
    ASSERT_NE(call, nullptr);
    call->release();
    EXPECT_EQ(network_->fences(), 1u);
    pump(10);
    EXPECT_EQ(network_->fences(), 0u);
    EXPECT_EQ(origin_->counts().calls, 0u);
}

TEST_F(LateFence, IsWaitedForByAContextThatCloses) {
    Outcome outcome;
    ASSERT_TRUE(send(outcome));
    network_->faults().late_fences = 50;
    origin_.reset();
    EXPECT_EQ(network_->fences(), 0u);
    EXPECT_EQ(outcome.count, 1);
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_TRUE(outcome.fenced);
}

TEST_F(LateFence, ThatOutlastsTheGraceIsToldAsFailed) {
    Outcome outcome;
    ASSERT_TRUE(send(outcome));
    network_->faults().late_fences = 2'000'000;
    origin_.reset();
    EXPECT_EQ(network_->fences(), 1u);
    EXPECT_EQ(outcome.count, 1);
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_FALSE(outcome.fenced) << "the target may still write";
    // The fence ends only at the end of the test, and must not touch anything that has been destroyed.
}

TEST_F(LateFence, OfALargeResultKeepsItUntilItIsMade) {
    Outcome outcome;
    ASSERT_TRUE(send(outcome));
    Bytes room;
    ASSERT_EQ(held_.front()->grow_output(1'000'000, room), Errc::ok);
    network_->faults().late_fences = 300;
    held_.front()->respond(room.size());
    for (int i = 0; i < 1000 && network_->fences() == 0; ++i) pump(1);
    origin_.reset();  // the peer disappears during the fence
    pump(1000);
    EXPECT_EQ(outcome.count, 1);
    EXPECT_EQ(network_->fences(), 0u);
}

}  // namespace
}  // namespace cinnabar::rpc
