// SPDX-License-Identifier: BSD-3-Clause
// Cancels by another thread that race with the beginning or the end of a call. Contexts for many threads.
#include "support/at_yield.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace cinnabar::rpc {
namespace {

class CancelRace : public ::testing::Test {
  public:
    void SetUp() override {
        na::Registry registry;
        add_builtin(registry);
        na::TransportOptions listening;
        listening.listen = true;
        transport_ = registry.open("self://", listening).value();
        engine_ = Engine::open({transport_}).value();
        target_ = open(0);
        origin_ = open(1);
        serve("echo", [](Request& request, void*) noexcept {
            request.respond(0);
            request.release();
        });
    }
    [[nodiscard]] std::unique_ptr<Context> open(na::ContextId id) {
        Options options;
        options.context.id = id;
        return engine_->open_context(options).value();
    }
    void serve(const char* name, void (*run)(Request&, void*) noexcept, void* user = nullptr) {
        Handler handler;
        handler.name = name;
        handler.run = run;
        handler.target = std::shared_ptr<void>(user, [](void*) {});
        ASSERT_TRUE(engine_->serve(rpc_id(name), 0, std::move(handler)).ok());
    }
    [[nodiscard]] Call* make(const char* name) {
        Errc why = Errc::ok;
        Call* const call = origin_->make_call(target_->self_addr(), why);
        EXPECT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id(name);
        return call;
    }
    void pump() {
        for (Context* context : {origin_.get(), target_.get()}) {
            (void)context->progress(Microseconds{0});
            (void)context->trigger(16);
        }
    }
    [[nodiscard]] bool until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            pump();
        }
        return true;
    }

    std::shared_ptr<na::Transport> transport_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Context> target_;
    std::unique_ptr<Context> origin_;
};

// The call that the callback makes is still being handed over when the cancel runs.
TEST_F(CancelRace, BeforeTheCallIsSubmittedIsNotLost) {
    std::atomic<Request*> held{nullptr};
    serve(
        "hold",
        [](Request& request, void* user) noexcept { static_cast<std::atomic<Request*>*>(user)->store(&request); },
        &held);
    struct Second {
        CancelRace& test;
        Call* call = nullptr;
        std::atomic<bool> ended{false};
        Errc result = Errc::again;
    } second{*this};
    Call* const first = make("echo");
    const auto forward_and_cancel = [](Call& call, void* user) noexcept {
        auto& next = *static_cast<Second*>(user);
        call.release();
        next.call = next.test.make("hold");
        const auto ended = [](Call& over, void* self) noexcept {
            auto& seen = *static_cast<Second*>(self);
            seen.result = over.result();
            over.release();
            seen.ended = true;
        };
        EXPECT_EQ(next.call->forward(0, ended, user), Errc::ok);
        std::thread([&next] { next.call->cancel(); }).join();
    };
    ASSERT_EQ(first->forward(0, forward_and_cancel, &second), Errc::ok);
    EXPECT_TRUE(until([&] { return second.ended.load(); })) << "nobody cancels it any more";
    EXPECT_EQ(second.result, Errc::canceled);
    if (Request* request = held.load()) {
        request->respond(0);
        request->release();
    }
}

#ifndef NDEBUG
// The cancel by id and the release run between each other's steps: the slot must not be freed twice.
TEST_F(CancelRace, ByIdBesideTheReleaseLeavesTheSlotToItsNextCall) {
    static std::atomic<bool> at_cancel;
    static std::atomic<bool> released;
    static std::atomic<bool> over;
    static std::thread other;
    static Context* context;
    static CallId id;
    at_cancel = released = over = false;
    context = origin_.get();
    Call* done = nullptr;
    const auto keep = [](Call& call, void* user) noexcept { *static_cast<Call**>(user) = &call; };
    ASSERT_EQ(make("echo")->forward(0, keep, &done), Errc::ok);
    ASSERT_TRUE(until([&] { return done != nullptr; }));
    id = done->id();
    test_yield.store([](const char* where) noexcept {
        if (std::strcmp(where, "call: about to be reused") == 0) {
            other = std::thread([] {
                context->cancel(id);
                over = true;
            });
            while (!over && !at_cancel) std::this_thread::yield();
        } else if (std::strcmp(where, "call: about to be canceled") == 0) {
            at_cancel = true;
            while (!released) std::this_thread::yield();
        }
    });
    done->release();
    Call* const second = make("echo");
    released = true;
    if (other.joinable()) other.join();
    test_yield.store(nullptr);
    for (int i = 0; i < 5; ++i) pump();
    EXPECT_EQ(origin_->counts().calls, 1u);
    Call* const third = make("echo");
    EXPECT_NE(third, second);
    second->release();
    third->release();
    EXPECT_TRUE(until([&] { return origin_->counts().calls == 0; }));
}
#endif

}  // namespace
}  // namespace cinnabar::rpc
