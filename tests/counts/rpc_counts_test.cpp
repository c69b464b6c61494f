// SPDX-License-Identifier: BSD-3-Clause
// Allocations and system calls of a call in steady state, at the rpc layer. They are promised by the design (section 2,
// "What flows through it"), so the tests require exact numbers or bounds.
#include "support/allocation_count.hpp"
#include "support/missing_here.hpp"
#include "support/sanitizers.hpp"
#include "support/system_calls.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

namespace cinnabar::rpc {
namespace {

constexpr RpcId echo_id = rpc_id("counts.echo");
constexpr RpcId detached_echo_id = rpc_id("counts.detached_echo");
constexpr std::size_t payload_bytes = 64;
constexpr Microseconds no_wait{0};
constexpr Microseconds patience{20'000'000};

void echo(Request& request, void*) noexcept {
    const auto input = request.input();
    std::memcpy(request.output_room().data(), input.data(), input.size());
    request.respond(input.size());
    request.release();
}

// Releases the receive slot before it answers, as a handler does that is a coroutine.
void detached_echo(Request& request, void*) noexcept {
    const auto input = request.input();
    std::memcpy(request.output_room().data(), input.data(), input.size());
    const std::size_t bytes = input.size();
    request.release_input();
    request.respond(bytes);
    request.release();
}

// Addresses to listen on.
constexpr const char* tcp = "tcp://127.0.0.1:0";
constexpr const char* shm = "shm://";
constexpr const char* fabric = "ofi+tcp;ofi_rxm://127.0.0.1:0";
constexpr const char* busy_fabric = "ofi+tcp;ofi_rxm://127.0.0.1:0?busy=yes";

struct Node {
    explicit Node(bool listen, const std::string& uri = tcp, Microseconds spin_max = Microseconds{50}) {
        na::Registry registry;
        add_builtin(registry);
        na::TransportOptions transport;
        transport.listen = listen;
        const std::string scheme = uri.substr(0, uri.find(':')) + "://";
        engine = Engine::open({registry.open(listen ? uri : scheme, transport).value()}).value();
        Options options;
        options.context.spin_max = spin_max;
        context = engine->open_context(options).value();
        Handler handler;
        handler.run = &echo;
        handler.name = "counts.echo";
        engine->serve(echo_id, 0, handler).value();
        handler.run = &detached_echo;
        handler.name = "counts.detached_echo";
        engine->serve(detached_echo_id, 0, handler).value();
    }
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Context> context;
};

// Makes a number of calls to one peer, several of them in flight.
class Caller {
  public:
    Caller(Context& context, na::Addr peer) : context_(context), peer_(std::move(peer)) {}

    void start(std::size_t calls, std::size_t in_flight) {
        left_ = calls;
        for (std::size_t i = 0; i < in_flight && left_ > 0; ++i) start_one();
    }
    void call(RpcId rpc) { rpc_ = rpc; }
    [[nodiscard]] bool busy() const { return busy_ > 0; }
    [[nodiscard]] Errc failure() const { return failure_; }

  private:
    void start_one() noexcept {
        auto* call = context_.make_call(peer_, failure_);
        if (call == nullptr) return;
        call->args.rpc = rpc_;
        call->args.deadline = context_.deadline_in(patience);
        std::memset(call->input_room().data(), 1, payload_bytes);
        failure_ = call->forward(
            payload_bytes, [](Call& ended, void* self) noexcept { static_cast<Caller*>(self)->ended(ended); }, this);
        if (failure_ != Errc::ok) return call->release();
        --left_;
        ++busy_;
    }
    void ended(Call& call) noexcept {
        --busy_;
        if (call.result() != Errc::ok) failure_ = call.result();
        call.release();
        if (left_ > 0 && failure_ == Errc::ok) start_one();
    }

    Context& context_;
    na::Addr peer_;
    RpcId rpc_ = echo_id;
    std::size_t left_ = 0;
    std::size_t busy_ = 0;
    Errc failure_ = Errc::ok;
};

class Pair {
  public:
    explicit Pair(const std::string& uri) : server_(true, uri), client_(false, uri) {}

    // Both sides on one thread, polled in turn.
    void run(std::size_t calls, std::size_t in_flight) {
        caller_.start(calls, in_flight);
        drive();
    }
    void call(RpcId rpc) { caller_.call(rpc); }
    void drive() {
        const auto end = client_.context->deadline_in(patience);
        while (caller_.busy()) {
            for (auto* context : {client_.context.get(), server_.context.get()}) {
                context->progress(no_wait);
                context->trigger(64);
            }
            ASSERT_LT(client_.context->now_us(), end) << "the calls do not end";
        }
        ASSERT_EQ(caller_.failure(), Errc::ok) << to_string(caller_.failure());
    }

    void expect_no_allocations() {
        for (const std::size_t in_flight : {1u, 16u}) {
            run(5'000, in_flight);
            const auto before = support::allocations();
            run(5'000, in_flight);
            EXPECT_EQ(support::allocations() - before, 0u) << in_flight << " in flight";
        }
    }

  private:
    Node server_;
    Node client_;
    Caller caller_{*client_.context, server_.engine->self_addr()};
};

struct RpcCounts : testing::Test, Pair {
    RpcCounts() : Pair(tcp) {}
};
struct RpcCountsInSharedMemory : testing::Test, Pair {
    RpcCountsInSharedMemory() : Pair(shm) {}
};

TEST_F(RpcCounts, SteadyStateAllocatesNothing) { expect_no_allocations(); }
TEST_F(RpcCountsInSharedMemory, SteadyStateAllocatesNothing) { expect_no_allocations(); }
TEST(RpcCountsOverLibfabric, SteadyStateAllocatesNothing) {
    na::Registry registry;
    add_builtin(registry);
    const std::string missing = support::missing_here(registry.open(fabric, {}));
    if (!missing.empty()) GTEST_SKIP() << missing;
    Pair{fabric}.expect_no_allocations();
    Pair{busy_fabric}.expect_no_allocations();
}

// Each side asks the kernel once in that time, whether there are calls or not.
TEST_F(RpcCountsInSharedMemory, CallsAreNoMatterOfTheKernel) {
    constexpr std::uint64_t calls = 5'000;
    constexpr TimeUs between_looks = 20;
    run(5'000, 1);
    const auto before = support::system_calls();
    const auto sends_before = support::socket_traffic().sends;
    const TimeUs started = steady_clock().now_us();
    run(calls, 1);
    const TimeUs took = steady_clock().now_us() - started;
    EXPECT_EQ(support::socket_traffic().sends - sends_before, 0u) << support::system_calls_by_name();
    EXPECT_LE(support::system_calls() - before, 2 * (took / between_looks + 1)) << support::system_calls_by_name();
}

// Small messages that are sent in one round of progress share one system call.
TEST_F(RpcCounts, CallsOfOneRoundShareASend) {
    constexpr std::size_t in_flight = 32;
    constexpr std::size_t calls = 32'000;
    for (const RpcId rpc : {echo_id, detached_echo_id}) {
        call(rpc);
        run(5'000, in_flight);
        const auto before = support::socket_traffic();
        run(calls, in_flight);
        const auto sends = support::socket_traffic().sends - before.sends;
        // Each call is two messages. A round has 32 of them, fewer if the two sides split it.
        EXPECT_LE(sends, 2 * calls / 8) << support::system_calls_by_name();
    }
}

TEST_F(RpcCounts, OneCallIsOneSendAndOneReceiveASide) {
    constexpr std::uint64_t calls = 2'000;
    run(5'000, 1);
    const auto before = support::socket_traffic();
    run(calls, 1);
    const auto after = support::socket_traffic();
    EXPECT_LE(after.sends - before.sends, 2 * calls + calls / 50);
    EXPECT_LE(after.receives - before.receives, 2 * calls + calls / 50);
    EXPECT_LE(after.bytes_sent - before.bytes_sent, calls * 2 * (payload_bytes + 64)) << "headers of over 64 bytes";
}

// The system calls per call on the side that makes more of them. Each side sleeps until a message arrives.
double calls_asleep(const std::string& uri) {
    constexpr std::size_t calls = 2'000;
    Node server{true, uri, no_wait};
    Node client{false, uri, no_wait};
    std::atomic<bool> stop{false};
    std::uint64_t server_calls = 0;
    std::thread serving{[&] {
        while (!stop.load()) {
            server.context->progress(Microseconds{1'000'000});
            server.context->trigger(64);
        }
        server_calls = support::thread_system_calls();
    }};
    Caller caller{*client.context, server.engine->self_addr()};
    const auto end = client.context->deadline_in(patience);
    const auto before = support::thread_system_calls();
    caller.start(calls, 1);
    while (caller.busy() && client.context->now_us() < end) {
        client.context->progress(Microseconds{1'000'000});
        client.context->trigger(64);
    }
    const auto client_calls = support::thread_system_calls() - before;
    stop.store(true);
    server.context->na().wake();
    serving.join();
    EXPECT_FALSE(caller.busy());
    EXPECT_EQ(caller.failure(), Errc::ok) << to_string(caller.failure());
    return static_cast<double>(std::max(client_calls, server_calls)) / calls;
}

// A side that was awake for more than 20 us asks the kernel once more before it sleeps again. Sanitizers slow many
// sides down to that, and so does a busy machine, so the best of several tries counts.
void expect_calls_asleep(const std::string& uri, double system_calls_max) {
    if constexpr (support::sanitized) system_calls_max += 1;
    constexpr int tries = 5;
    constexpr double of_connecting = 0.05;  // also covers the wake-up at the end
    double best = calls_asleep(uri);
    for (int i = 1; i < tries && best > system_calls_max + of_connecting; ++i) best = std::min(best, calls_asleep(uri));
    EXPECT_LE(best, system_calls_max + of_connecting) << support::system_calls_by_name();
}

// With a spin budget of 0, each side may send, sleep and receive for a call: three system calls.
TEST(RpcCountsAsleep, AtMostThreeSystemCallsASideAndCall) { expect_calls_asleep(tcp, 3); }
// In shared memory a side rings and sleeps.
TEST(RpcCountsAsleep, AtMostTwoSystemCallsASideAndCallInSharedMemory) { expect_calls_asleep(shm, 2); }

}  // namespace
}  // namespace cinnabar::rpc
