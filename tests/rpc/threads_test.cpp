// SPDX-License-Identifier: BSD-3-Clause
// Contexts for many threads: eight threads call, two trigger, and others cancel. Also meant for the thread sanitizer.
#include "support/at_yield.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace cinnabar::rpc {
namespace {

class ThreadsTest : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        add_builtin(registry_);
        const std::string uri = GetParam() == "tcp" ? "tcp://127.0.0.1:0" : GetParam() + "://";
        na::TransportOptions network;
        network.listen = true;
        transport_ = *registry_.open(uri, network);
        server_engine_ = *Engine::open({transport_});
        Options options;
        options.handler_time_max = Microseconds{0};  // a busy machine may stop any handler for that long
        options.context.id = 0;
        server_ = *server_engine_->open_context(options);
        if (GetParam() != "self") transport_ = *registry_.open(uri, {});
        client_engine_ = *Engine::open({transport_});
        options.context.id = GetParam() == "self" ? 1 : 0;
        client_ = *client_engine_->open_context(options);
        for (Context* context : {server_.get(), server_.get(), client_.get()}) {
            drivers_.emplace_back([this, context] {
                while (!stop_.load()) {
                    (void)context->progress(Microseconds(50'000));
                    (void)context->trigger(16);
                }
            });
        }
    }
    void TearDown() override {
        stop_.store(true);
        server_->na().wake();
        server_->na().wake();
        client_->na().wake();
        for (std::thread& driver : drivers_) driver.join();
        client_.reset();
        server_.reset();
    }

    support::LogWatch log_;
    na::Registry registry_;
    std::shared_ptr<na::Transport> transport_;
    std::unique_ptr<Engine> server_engine_;
    std::unique_ptr<Engine> client_engine_;
    std::unique_ptr<Context> server_;
    std::unique_ptr<Context> client_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> drivers_;
};

struct Tally {
    std::atomic<int> ended{0};
    std::atomic<int> wrong{0};
    std::atomic<int> last_wrong{0};  // an Errc
};
struct One {
    Tally* tally = nullptr;
    std::uint64_t value = 0;
    bool may_cancel = false;
};

TEST_P(ThreadsTest, EveryCallEndsOnceWithItsOwnReply) {
    Handler handler;
    handler.name = "echo";
    handler.run = [](Request& request, void*) noexcept {
        const ConstBytes input = request.input();
        std::copy(input.begin(), input.end(), request.output_room().begin());
        request.respond(input.size());
        request.release();
    };
    ASSERT_TRUE(server_engine_->serve(rpc_id("echo"), 0, handler).ok());
    constexpr int threads = 8;
    constexpr int calls_each = 400;
    Tally tally;
    std::vector<One> ones(threads * calls_each);
    const na::Addr to = server_->self_addr();
    std::vector<std::thread> callers;
    for (int t = 0; t < threads; ++t) {
        callers.emplace_back([&, t] {
            Random random(static_cast<std::uint64_t>(t));
            for (int i = 0; i < calls_each; ++i) {
                One& one = ones[static_cast<std::size_t>(t) * calls_each + static_cast<std::size_t>(i)];
                one = {&tally, random.next(), random.chance(8)};
                Errc why = Errc::ok;
                Call* call = client_->make_call(to, why);
                ASSERT_NE(call, nullptr) << to_string(why);
                call->args.rpc = rpc_id("echo");
                call->args.deadline = client_->deadline_in(std::chrono::seconds(60));
                ByteWriter writer(call->input_room());
                writer.u64(one.value);
                const CallId id = call->id();
                const auto done = [](Call& ended, void* user) noexcept {
                    const One& asked = *static_cast<One*>(user);
                    ByteReader reader(ended.output());
                    const bool right = ended.result() == Errc::ok
                                           ? reader.u64() == asked.value
                                           : asked.may_cancel && ended.result() == Errc::canceled;
                    if (!right) {
                        ++asked.tally->wrong;
                        asked.tally->last_wrong = static_cast<int>(ended.result());
                    }
                    ended.release();
                    ++asked.tally->ended;
                };
                ASSERT_EQ(call->forward(writer.size(), done, &one), Errc::ok);
                if (one.may_cancel) client_->cancel(id);
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (tally.ended.load() != threads * calls_each && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_EQ(tally.ended.load(), threads * calls_each);
    EXPECT_EQ(tally.wrong.load(), 0) << to_string(static_cast<Errc>(tally.last_wrong.load()));
    while (client_->counts().calls != 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(client_->counts().calls, 0u);
}

TEST_P(ThreadsTest, RequestsAreAnsweredFromAnyThread) {
    struct Workers {
        std::atomic<Request*> slot{nullptr};
    } workers;
    Handler handler;
    handler.name = "elsewhere";
    handler.target = std::shared_ptr<void>(&workers, [](void*) {});
    handler.run = [](Request& request, void* target) noexcept {
        request.detach();
        auto& where = *static_cast<Workers*>(target);
        Request* none = nullptr;
        if (where.slot.compare_exchange_strong(none, &request)) return;
        request.respond(0);
        request.release();
    };
    ASSERT_TRUE(server_engine_->serve(rpc_id("elsewhere"), 0, handler).ok());
    std::atomic<bool> over{false};
    std::thread worker([&] {
        while (!over.load()) {
            if (Request* request = workers.slot.exchange(nullptr)) {
                request->respond(0);
                request->release();
            }
            std::this_thread::yield();
        }
    });
    std::atomic<int> ended{0};
    constexpr int count = 500;
    const na::Addr to = server_->self_addr();
    for (int i = 0; i < count; ++i) {
        Errc why = Errc::ok;
        Call* call = client_->make_call(to, why);
        ASSERT_NE(call, nullptr);
        call->args.rpc = rpc_id("elsewhere");
        const auto done = [](Call& call_ended, void* user) noexcept {
            EXPECT_EQ(call_ended.result(), Errc::ok);
            call_ended.release();
            ++*static_cast<std::atomic<int>*>(user);
        };
        ASSERT_EQ(call->forward(0, done, &ended), Errc::ok);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (ended.load() != count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(ended.load(), count);
    over.store(true);
    worker.join();
}

#ifndef NDEBUG
// A handler on another thread releases its request while the cancel of that request arrives.
class LastReleaseTest : public ThreadsTest {
  protected:
    void SetUp() override {
        ThreadsTest::SetUp();
        Handler handler;
        handler.name = "worked on";
        handler.target = std::shared_ptr<void>(this, [](void*) {});
        handler.run = [](Request& request, void* target) noexcept {
            auto& test = *static_cast<LastReleaseTest*>(target);
            request.detach();
            request.on_cancel([](Request&, void* user) noexcept { ++*static_cast<std::atomic<int>*>(user); },
                              &test.told_);
            Request* none = nullptr;
            if (!test.request_.compare_exchange_strong(none, &request)) request.release();
        };
        ASSERT_TRUE(server_engine_->serve(rpc_id("worked on"), 0, handler).ok());
    }
    Call* call(std::atomic<int>& ended) {
        Errc why = Errc::ok;
        Call* call = client_->make_call(server_->self_addr(), why);
        EXPECT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id("worked on");
        const auto done = [](Call& over, void* user) noexcept {
            over.release();
            ++*static_cast<std::atomic<int>*>(user);
        };
        EXPECT_EQ(call->forward(0, done, &ended), Errc::ok);
        return call;
    }
    static bool soon(const std::function<bool()>& what) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!what() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        return what();
    }
    std::atomic<Request*> request_{nullptr};
    std::atomic<int> told_{0};
};

TEST_P(LastReleaseTest, IsFinalWhenACancelHasJustSeenTheRequest) {
    std::atomic<bool> seen{false};
    std::atomic<bool> released{false};
    std::thread worker([&] {
        (void)soon([&] { return seen.load(); });
        request_.exchange(nullptr)->release();
        released.store(true);
    });
    std::atomic<int> ended{0};
    {
        const support::AtYield come_between("request: references read", [&] {
            if (seen.exchange(true)) return;
            EXPECT_TRUE(soon([&] { return released.load(); }));
        });
        Call* canceled = call(ended);
        ASSERT_TRUE(soon([&] { return request_.load() != nullptr; }));
        client_->cancel(canceled->id());
        ASSERT_TRUE(soon([&] { return ended.load() == 1 && released.load(); }));
        worker.join();
    }
    EXPECT_TRUE(soon([&] { return server_->counts().requests == 0; })) << server_->counts().requests;
    EXPECT_EQ(told_.load(), 0);
    for (int i = 0; i < 3; ++i) {
        (void)call(ended);
        ASSERT_TRUE(soon([&] { return request_.load() != nullptr; }));
        EXPECT_EQ(server_->counts().requests, 1u);
        Request* const next = request_.exchange(nullptr);
        next->respond(0);
        next->release();
        ASSERT_TRUE(soon([&] { return ended.load() == i + 2; }));
    }
    EXPECT_TRUE(soon([&] { return server_->counts().requests == 0; }));
}

TEST_P(LastReleaseTest, IsFinalAtAnyMoment) {
#ifdef CINNABAR_FULL_TESTS
    constexpr int rounds = 3000;
#else
    constexpr int rounds = 500;  // the test above makes the two meet on purpose
#endif
    std::atomic<bool> over{false};
    std::thread worker([&] {
        Random random(1);
        while (!over.load()) {
            Request* const request = request_.exchange(nullptr);
            if (!request) {
                std::this_thread::yield();
                continue;
            }
            for (std::uint64_t spins = random.next() % 2000; spins != 0; --spins) (void)request->canceled();
            if (random.chance(50)) request->respond(0);
            request->release();
        }
    });
    std::atomic<int> ended{0};
    {
        const support::AtYield come_between("request: references read", [] { std::this_thread::yield(); });
        for (int i = 0; i < rounds; ++i) {
            const CallId id = call(ended)->id();
            (void)soon([&] { return request_.load() != nullptr || ended.load() > i; });
            client_->cancel(id);
            ASSERT_TRUE(soon([&] { return ended.load() == i + 1; })) << "round " << i;
        }
        // The cancel may arrive after the handler has run, and the handler may run after the call has ended.
        EXPECT_TRUE(soon([&] { return server_->counts().requests == 0; })) << server_->counts().requests;
        over.store(true);
        worker.join();
    }
    EXPECT_LE(told_.load(), rounds);
}

INSTANTIATE_TEST_SUITE_P(Over, LastReleaseTest, ::testing::Values("self", "tcp"),
                         [](const auto& each) { return each.param; });
#endif

INSTANTIATE_TEST_SUITE_P(Over, ThreadsTest, ::testing::Values("self", "tcp"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace cinnabar::rpc
