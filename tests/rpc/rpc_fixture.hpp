// SPDX-License-Identifier: BSD-3-Clause
// An origin and a target on one thread, over each transport, driven until a condition holds.
#pragma once

#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::rpc {

// The outcome of a call.
struct Ending {
    int count = 0;
    Errc result = Errc::again;
    std::string output;
    std::uint32_t app_code = 0;
    std::string app_text;
    bool fenced = true;

    static void take(Call& call, void* user) noexcept {
        auto& ending = *static_cast<Ending*>(user);
        ++ending.count;
        ending.result = call.result();
        ending.output = as_text(call.output());
        ending.app_code = call.app_code();
        ending.app_text = call.app_text();
        ending.fenced = call.fenced();
        call.release();
    }
};

class RpcTest : public ::testing::TestWithParam<support::NetworkKind> {
  protected:
    RpcTest() : network_(GetParam()) {}
    struct Side {
        std::shared_ptr<na::Transport> transport;
        std::unique_ptr<Engine> engine;
        std::unique_ptr<Context> context;
    };

    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        open(target_, 0, true);
        open(origin_, 1, false);
        to_ = target_.context->self_addr();
    }

    void TearDown() override {
        if (origin_.context && target_.context) {
            EXPECT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
            EXPECT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
            EXPECT_EQ(origin_.context->counts().large_bytes, 0u);
            EXPECT_EQ(target_.context->counts().large_bytes, 0u);
            EXPECT_EQ(target_.context->counts().decoded_bytes, 0u);
        }
        origin_.context.reset();
        target_.context.reset();
    }

    void open(Side& side, na::ContextId id, bool listen) { open(side, id, listen, listen ? "target" : "origin"); }
    void open(Side& side, na::ContextId id, bool listen, const char* process) {
        na::TransportOptions network = listen ? transport_options_ : origin_transport_options_;
        network.listen = listen;
        if (network_.one_process() && (target_.transport || origin_.transport)) {
            side.transport = target_.transport ? target_.transport : origin_.transport;
        } else {
            auto opened = network_.open(process, network);
            ASSERT_TRUE(opened.ok()) << opened.error().message();
            side.transport = *std::move(opened);
        }
        auto engine = Engine::open({side.transport});
        ASSERT_TRUE(engine.ok());
        side.engine = *std::move(engine);
        Options options = options_;
        options.context.threads = ThreadUse::one;
        options.context.id = network_.one_process() ? id : na::ContextId{0};
        auto context = side.engine->open_context(options);
        ASSERT_TRUE(context.ok()) << context.error().message();
        side.context = *std::move(context);
    }
    // Closes the side, including its process if it has one of its own.
    void close(Side& side) {
        side.context.reset();
        side.engine.reset();
        if (!network_.one_process()) side.transport.reset();
    }

    [[nodiscard]] support::Pump pump_of(std::initializer_list<const Side*> sides) {
        support::Pump pump(network_.world_or_null());
        for (const Side* side : sides) {
            if (side->context) pump.add(side->context->na());
        }
        return pump;
    }
    void pump() { (void)pump_of({&origin_, &target_}).step(); }
    // For tests of something else: a side that closes waits for what the other is to do, and nothing drives that one
    // meanwhile. Before SetUp().
    void leave_soon() { options_.leave_max = Microseconds{10'000}; }

    [[nodiscard]] bool until(const std::function<bool()>& done, std::chrono::seconds limit = std::chrono::seconds(20)) {
        return pump_of({&origin_, &target_}).until(done, limit);
    }

    using Function = std::function<void(Request&)>;
    void serve(const char* name, Function function, std::uint16_t shape = 0) {
        serve(target_, name, std::move(function), shape);
    }
    static void serve(Side& side, const char* name, Function function, std::uint16_t shape = 0) {
        Handler handler;
        handler.name = name;
        handler.shape = shape;
        handler.target = std::make_shared<Function>(std::move(function));
        handler.run = [](Request& request, void* target) noexcept { (*static_cast<Function*>(target))(request); };
        ASSERT_TRUE(side.engine->serve(rpc_id(name), 0, std::move(handler)).ok());
    }
    void serve_echo() {
        serve("echo", [](Request& request) {
            const ConstBytes input = request.input();
            std::copy(input.begin(), input.end(), request.output_room().begin());
            request.respond(input.size());
            request.release();
        });
    }

    [[nodiscard]] Call* make(const char* name, Microseconds time = Microseconds::max()) {
        Errc why = Errc::ok;
        Call* call = origin_.context->make_call(to_, why);
        EXPECT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id(name);
        call->args.deadline = origin_.context->deadline_in(time);
        return call;
    }
    // Sends a call with `text` and returns it; `ending` releases it.
    Call* send(const char* name, std::string_view text, Ending& ending, Microseconds time = Microseconds::max()) {
        Call* call = make(name, time);
        const ConstBytes bytes = as_bytes(text);
        std::copy(bytes.begin(), bytes.end(), call->input_room().begin());
        EXPECT_EQ(call->forward(bytes.size(), &Ending::take, &ending), Errc::ok);
        return call;
    }

    support::LogWatch log_;
    support::Network network_;
    // Without a watchdog, which would fire on a busy machine.
    Options options_ = [] {
        Options options;
        options.handler_time_max = Microseconds(0);
        return options;
    }();
    na::TransportOptions transport_options_;  // of the target
    na::TransportOptions origin_transport_options_;
    Side target_;
    Side origin_;
    na::Addr to_;
};

#define CINNABAR_OVER_ALL(suite)                                                                        \
    INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::cinnabar::support::networks_for_calls()), \
                             [](const auto& i) { return std::string(::cinnabar::support::to_string(i.param)); })

}  // namespace cinnabar::rpc
