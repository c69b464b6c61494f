// SPDX-License-Identifier: BSD-3-Clause
// A target that can neither take requests nor tell of it: nobody waits for an answer that will never come.
#include "support/fault_transport.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <map>

namespace cinnabar::rpc {
namespace {

constexpr unsigned many = 6'000;  // more than are turned away at once

class NoRoom : public ::testing::Test {
  protected:
    NoRoom() {
        na::Registry registry;
        add_builtin(registry);
        inner_ = registry.open("self://", {.receive_slots = 32'768}).value();
        network_ = std::make_shared<support::FaultTransport>(*inner_);
        engine_ = Engine::open({network_}).value();
        Options options;
        options.context.threads = Threads::one;
        options.context.initial_credits = many;
        options.credits_per_peer_max = many;
        options.requests_held_max = 2;
        target_ = engine_->open_context(options).value();
        options.context.id = 1;
        origin_ = engine_->open_context(options).value();
    }
    void pump() {
        for (Context* context : {origin_.get(), target_.get()}) {
            (void)context->progress(Microseconds{0});
            (void)context->trigger(1024);
        }
    }
    // No reply leaves while there are more requests than are held.
    void call_many(TimeUs deadline) {
        for (unsigned i = 0; i < many; ++i) {
            Errc why = Errc::ok;
            Call* const call = origin_->make_call(target_->self_addr(), why);
            ASSERT_NE(call, nullptr);
            call->args.rpc = rpc_id("nobody");
            call->args.deadline = deadline;
            const auto ended = [](Call& over, void* results) noexcept {
                ++(*static_cast<std::map<Errc, unsigned>*>(results))[over.result()];
                over.release();
            };
            ASSERT_EQ(call->forward(0, ended, &results_), Errc::ok);
        }
        (void)origin_->progress(Microseconds{0});
        network_->faults().again_one_in = 1;
        for (int i = 0; i < 100; ++i) (void)target_->progress(Microseconds{0});
        network_->faults().again_one_in = 0;
        const TimeUs until = origin_->now_us() + 20'000'000;
        while (ended() < many && origin_->now_us() < until) pump();
    }
    [[nodiscard]] unsigned ended() const {
        unsigned all = 0;
        for (const auto& [result, count] : results_) all += count;
        return all;
    }

    support::LogWatch log_;
    std::map<Errc, unsigned> results_;
    std::unique_ptr<na::Transport> inner_;
    std::shared_ptr<support::FaultTransport> network_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Context> target_;
    std::unique_ptr<Context> origin_;
};

TEST_F(NoRoom, ACallWithoutADeadlineEndsWithItsConnection) {
    log_.allow("dropped, and its connection closed");
    call_many(time_never);
    EXPECT_EQ(ended(), many);
    EXPECT_GT(results_[Errc::peer_lost], 0u);
}

TEST_F(NoRoom, OneWithADeadlineEndsByIt) {
    log_.allow("dropped: too many");
    call_many(origin_->now_us() + 2'000'000);
    EXPECT_EQ(ended(), many);
    EXPECT_GT(results_[Errc::timed_out], 0u);
    EXPECT_GT(results_[Errc::no_such_rpc] + results_[Errc::overloaded], 0u);
    EXPECT_EQ(results_[Errc::peer_lost], 0u);
}

}  // namespace
}  // namespace cinnabar::rpc
