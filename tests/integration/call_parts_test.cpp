// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a call goes: each part is right, and the parts add up to the whole time.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using hl::CallPart;
using hl::CallParts;
using hl::RpcCounts;

constexpr Rpc<int(int)> slow{"parts.slow"};
constexpr Rpc<int(int)> quick{"parts.quick"};
constexpr Rpc<std::string(int)> large{"parts.large"};
constexpr Rpc<int(int)> keeps_busy{"parts.keeps_busy"};
constexpr Rpc<std::size_t(std::string_view)> takes{"parts.takes"};
constexpr Rpc<int(int)> refused{"parts.refused"};
constexpr Rpc<int(Bulk)> pulls{"parts.pulls"};

TimeUs part(const CallParts& parts, CallPart which) { return parts[static_cast<std::size_t>(which)]; }
TimeUs leaving(const CallParts& parts) {
    return part(parts, CallPart::connecting) + part(parts, CallPart::for_credit) + part(parts, CallPart::queued);
}
TimeUs on_the_wire(const CallParts& parts) {
    return part(parts, CallPart::wire_there) + part(parts, CallPart::wire_back);
}
TimeUs sum(const CallParts& parts) { return std::accumulate(parts.begin(), parts.end(), TimeUs{0}); }

RpcCounts counts_of(const Node& node, const std::string& name) {
    for (const RpcCounts& counts : node.stats()) {
        if (counts.name == name) return counts;
    }
    ADD_FAILURE() << "nothing is told of " << name;
    return {};
}
std::uint64_t timed(const RpcCounts& counts) { return counts.parts.front().total(); }

// Both sides on a simulated network on which each message takes 100 us.
class SimulatedParts : public testing::Test {
  protected:
    static constexpr TimeUs way_us = 100;
    static inline int worlds = 500;

    explicit SimulatedParts(std::uint32_t one_in = 1, const NodeOptions& of_server = {}) {
        server_ = std::make_unique<Node>(Node::listen(at("server"), of_server).value());
        NodeOptions options;
        options.timed_one_in = one_in;
        options.transport.receive_slots = 16;
        client_ = std::make_unique<Node>(Node::open(at("client"), options).value());
        to_ = client_->lookup("sim://server").value();
        EXPECT_TRUE(server_->serve(quick, [](int value) { return value; }).ok());
        EXPECT_TRUE(server_
                        ->serve(slow,
                                [](Request<int> request) -> Task<int> {
                                    (void)co_await request.node().sleep_for(7ms);
                                    co_return *request;
                                })
                        .ok());
    }
    [[nodiscard]] std::string at(const std::string& host) const {
        return "sim://" + host + "?world=" + std::to_string(number_);
    }
    const int number_ = ++worlds;
    std::shared_ptr<sim::World> world_ = sim::World::numbered(
        static_cast<std::uint64_t>(number_),
        {.latency_min = Microseconds{way_us}, .latency_max = Microseconds{way_us}, .bytes_per_us = 1'000'000});
    std::unique_ptr<Node> server_;
    std::unique_ptr<Node> client_;
    Addr to_;
};

TEST_F(SimulatedParts, AddUpExactly) {
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());  // connects
    constexpr std::uint64_t calls = 5;
    TimeUs whole = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        const TimeUs before = world_->now_us();
        client_->call(slow, to_, 1).then([&](Result<int> result) {
            EXPECT_TRUE(result.ok());
            whole += world_->now_us() - before;
        });
        ASSERT_EQ(client_->run_for(1s), Errc::ok);
    }
    const RpcCounts counts = counts_of(*client_, "parts.slow");
    EXPECT_EQ(timed(counts), calls);
    EXPECT_EQ(sum(counts.parts_us), whole);
    for (const CallPart none : {CallPart::connecting, CallPart::for_credit, CallPart::queued, CallPart::for_handler,
                                CallPart::in_transfers, CallPart::for_caller})
        EXPECT_EQ(part(counts.parts_us, none), 0u) << to_string(none);
    EXPECT_GE(on_the_wire(counts.parts_us), calls * 2 * way_us);
    EXPECT_LE(on_the_wire(counts.parts_us), calls * 2 * (way_us + 2));
    EXPECT_NEAR(static_cast<double>(part(counts.parts_us, CallPart::wire_there)), calls * way_us, calls * 4.0);
    EXPECT_GE(part(counts.parts_us, CallPart::in_handler), calls * 7'000);
    EXPECT_LE(part(counts.parts_us, CallPart::in_handler), calls * 8'100);

    const auto peer = client_->peer_times(to_);
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->calls, calls + 1);
    const RpcCounts first = counts_of(*client_, "parts.quick");
    for (std::size_t i = 0; i < hl::call_parts; ++i)
        EXPECT_EQ(peer->sums_us[i], counts.parts_us[i] + first.parts_us[i]) << i;
    EXPECT_EQ(peer->sums_us[rpc::PeerTimes::whole], whole + sum(first.parts_us));
    const TimeUs p50_us = peer->quantile_us(rpc::PeerTimes::whole, 0.5);
    EXPECT_GE(p50_us, whole / calls);
    EXPECT_LE(p50_us, whole / calls * 3 / 2 + 1);
    EXPECT_FALSE(client_->peer_times(client_->self_addr())) << "nobody was called there";
}

TEST_F(SimulatedParts, TheDialAndTheWaitForAReplySlotAreBeforeItLeaves) {
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());
    const CallParts first = counts_of(*client_, "parts.quick").parts_us;
    EXPECT_GE(part(first, CallPart::connecting), 2 * way_us) << "a greeting each way";
    EXPECT_LE(leaving(first), 1'000u);
    constexpr std::size_t calls = 16;  // half of the slots are for replies
    std::vector<Future<int>> futures;
    for (std::size_t i = 0; i < calls; ++i) futures.push_back(client_->call(slow, to_, 1).future());
    for (auto& future : futures) EXPECT_TRUE(future.get().ok());
    const RpcCounts counts = counts_of(*client_, "parts.slow");
    EXPECT_EQ(timed(counts), calls);
    EXPECT_GE(part(counts.parts_us, CallPart::queued), calls / 2 * 6'500) << "one half waits for the other";
    EXPECT_LE(leaving(counts.parts_us), calls / 2 * 9'000);
}

// While the transfer runs, the handler does nothing else.
TEST_F(SimulatedParts, TransfersAreToldApartFromTheirHandler) {
    ASSERT_TRUE(server_
                    ->serve(pulls,
                            [](Request<Bulk> request) -> Task<Result<int>> {
                                (void)co_await request.node().sleep_for(7ms);
                                std::vector<std::byte> here(request->size());
                                const auto moved = co_await request->pull(Bytes(here));
                                if (!moved) co_return moved.error();
                                (void)co_await request.node().sleep_for(7ms);
                                co_return 1;
                            })
                    .ok());
    std::vector<std::byte> there(100'000);  // more than travels with the request
    const auto region = client_->expose(std::span(there)).value();
    TimeUs whole = 0;
    const TimeUs before = world_->now_us();
    client_->call(pulls, to_, Bulk(region)).then([&](Result<int> result) {
        EXPECT_TRUE(result.ok());
        whole = world_->now_us() - before;
    });
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    const RpcCounts counts = counts_of(*client_, "parts.pulls");
    EXPECT_EQ(timed(counts), 1u);
    EXPECT_EQ(sum(counts.parts_us), whole);
    EXPECT_GE(part(counts.parts_us, CallPart::in_transfers), way_us);
    EXPECT_LE(part(counts.parts_us, CallPart::in_transfers), 5'000u);
    EXPECT_GE(part(counts.parts_us, CallPart::in_handler), 14'000u);
    EXPECT_LE(part(counts.parts_us, CallPart::in_handler), 17'500u);
}

// Plain handlers of one context run one after the other.
TEST_F(SimulatedParts, TheWaitForAHandlerIsToldApart) {
    constexpr TimeUs busy_us = 300;
    ASSERT_TRUE(server_
                    ->serve(keeps_busy,
                            [this](int value) {
                                world_->run_to(world_->now_us() + busy_us);
                                return value;
                            })
                    .ok());
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());  // connects
    constexpr std::uint64_t calls = 2;
    TimeUs whole = 0;
    const TimeUs before = world_->now_us();
    for (std::uint64_t i = 0; i < calls; ++i) {
        client_->call(keeps_busy, to_, 1).then([&](Result<int> result) {
            EXPECT_TRUE(result.ok());
            whole += world_->now_us() - before;
        });
    }
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    const RpcCounts counts = counts_of(*client_, "parts.keeps_busy");
    EXPECT_EQ(timed(counts), calls);
    EXPECT_EQ(sum(counts.parts_us), whole);
    EXPECT_GE(part(counts.parts_us, CallPart::for_handler), busy_us) << "the second waits for the first";
    EXPECT_LE(part(counts.parts_us, CallPart::for_handler), busy_us + way_us);
    EXPECT_GE(part(counts.parts_us, CallPart::in_handler), calls * busy_us);
}

// Callbacks, too: the second answer has arrived, and waits for the callback of the first.
TEST_F(SimulatedParts, TheWaitForTheCallerIsToldApart) {
    constexpr TimeUs busy_us = 500;
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());  // connects
    const CallParts first = counts_of(*client_, "parts.quick").parts_us;
    constexpr std::uint64_t calls = 2;
    TimeUs whole = 0;
    const TimeUs before = world_->now_us();
    for (std::uint64_t i = 0; i < calls; ++i) {
        client_->call(quick, to_, 1).then([&](Result<int> result) {
            EXPECT_TRUE(result.ok());
            whole += world_->now_us() - before;
            world_->run_to(world_->now_us() + busy_us);
        });
    }
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    const RpcCounts counts = counts_of(*client_, "parts.quick");
    EXPECT_EQ(timed(counts), calls + 1);
    EXPECT_EQ(sum(counts.parts_us) - sum(first), whole);
    const TimeUs for_caller = part(counts.parts_us, CallPart::for_caller) - part(first, CallPart::for_caller);
    EXPECT_GE(for_caller, busy_us);
    EXPECT_LE(for_caller, busy_us + way_us);
}

// Large arguments are fetched before the handler begins, a large result after the answer has arrived.
TEST_F(SimulatedParts, LargeArgumentsAndResultsAddUpExactly) {
    ASSERT_TRUE(server_->serve(takes, [](std::string_view text) { return text.size(); }).ok());
    const auto give = [](int count) { return std::string(static_cast<std::size_t>(count), 'x'); };
    ASSERT_TRUE(server_->serve(large, give).ok());
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());  // connects
    constexpr std::size_t bytes = 100'000;                  // more than travels with a message
    const std::string text(bytes, 'x');
    TimeUs whole = 0;
    TimeUs before = world_->now_us();
    client_->call(takes, to_, text).then([&](Result<std::size_t> result) {
        EXPECT_EQ(result.value(), bytes);
        whole = world_->now_us() - before;
    });
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    const RpcCounts taken = counts_of(*client_, "parts.takes");
    EXPECT_EQ(timed(taken), 1u);
    EXPECT_EQ(sum(taken.parts_us), whole);
    EXPECT_GE(part(taken.parts_us, CallPart::for_handler), way_us) << "the transfer";
    before = world_->now_us();
    client_->call(large, to_, static_cast<int>(bytes)).then([&](Result<std::string> result) {
        EXPECT_EQ(result.value().size(), bytes);
        whole = world_->now_us() - before;
    });
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    const RpcCounts given = counts_of(*client_, "parts.large");
    EXPECT_EQ(timed(given), 1u);
    EXPECT_EQ(sum(given.parts_us), whole);
    EXPECT_GE(on_the_wire(given.parts_us) + part(given.parts_us, CallPart::for_caller), 3 * way_us) << "the transfer";
}

// What is recorded of the parts of a call, and what its error says of its waits, are kept in the same place.
TEST_F(SimulatedParts, AnErrorOfTheTargetSaysTheSame) {
    ASSERT_TRUE(server_->serve(refused, [](int) -> Result<int> { return Error(Errc::overloaded); }).ok());
    TimeUs connecting = 0;
    TimeUs whole = 0;
    for (const bool connects : {true, false}) {
        const TimeUs before = world_->now_us();
        const auto result = client_->call(refused, to_, 1).wait();
        whole += world_->now_us() - before;
        ASSERT_EQ(result.code(), Errc::overloaded);
        const auto ending = call_ending(result.error());
        ASSERT_TRUE(ending);
        EXPECT_EQ(ending->waits.connecting_us >= 2 * way_us, connects) << ending->waits.connecting_us;
        EXPECT_EQ(ending->waits.connecting_us + ending->waits.queued_us + ending->waits.sent_us, ending->took_us);
        connecting += ending->waits.connecting_us;
    }
    const RpcCounts counts = counts_of(*client_, "parts.refused");
    EXPECT_EQ(timed(counts), 2u);
    EXPECT_EQ(part(counts.parts_us, CallPart::connecting), connecting);
    EXPECT_LE(sum(counts.parts_us), whole);
}

class OneCreditAtATime : public SimulatedParts {
  protected:
    static NodeOptions narrow() {
        NodeOptions options;
        options.rpc.credits_per_peer_max = 1;
        options.rpc.context.initial_credits = 1;
        return options;
    }
    OneCreditAtATime() : SimulatedParts(1, narrow()) {}
};

TEST_F(OneCreditAtATime, TheWaitForItIsToldApart) {
    ASSERT_TRUE(client_->call(quick, to_, 1).wait().ok());  // connects
    const CallParts first = counts_of(*client_, "parts.quick").parts_us;
    constexpr std::uint64_t calls = 4;
    TimeUs whole = 0;
    std::uint64_t answered = 0;
    const TimeUs before = world_->now_us();
    for (std::uint64_t i = 0; i < calls; ++i) {
        client_->call(quick, to_, 1).then([&](Result<int> result) {
            EXPECT_TRUE(result.ok());
            whole += world_->now_us() - before;
            ++answered;
        });
    }
    ASSERT_EQ(client_->run_for(1s), Errc::ok);
    ASSERT_EQ(answered, calls);
    const CallParts parts = counts_of(*client_, "parts.quick").parts_us;
    EXPECT_EQ(sum(parts) - sum(first), whole);
    EXPECT_GE(part(parts, CallPart::for_credit), 3 * way_us) << "each waits for the answers before it";
    EXPECT_EQ(part(parts, CallPart::connecting), part(first, CallPart::connecting));
    EXPECT_LE(part(parts, CallPart::queued) - part(first, CallPart::queued), 100u);
}

class OneInSixtyFour : public SimulatedParts {
  protected:
    OneInSixtyFour() : SimulatedParts(64) {}
};

TEST_F(OneInSixtyFour, IsTimed) {
    for (int i = 0; i < 640; ++i) ASSERT_TRUE(client_->call(quick, to_, i).wait().ok());
    const RpcCounts counts = counts_of(*client_, "parts.quick");
    EXPECT_EQ(counts.calls, 640u);
    EXPECT_GE(timed(counts), 10u);
    EXPECT_LE(timed(counts), 12u);
}

class NoneIn : public SimulatedParts {
  protected:
    NoneIn() : SimulatedParts(0) {}
};

TEST_F(NoneIn, IsTimed) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(client_->call(quick, to_, i).wait().ok());
    EXPECT_EQ(timed(counts_of(*client_, "parts.quick")), 0u);
}

// Over sockets and shared memory: a handler on a pool, a bulk result, an error, and a handler on arrival.
TEST(CallPartsOverANetwork, AreToldOfEachKindOfAnswer) {
    const std::string shm = "shm://parts-" + std::to_string(::getpid());
    for (const std::string& place : {std::string("tcp://127.0.0.1:0"), shm}) {
        const auto server = Node::listen(place).value();
        const auto pool = server.make_pool({.threads = 1}).value();
        const auto pause = [](Request<int> request) -> Task<int> {
            (void)co_await request.node().sleep_for(3ms);
            co_return *request;
        };
        ASSERT_TRUE(server.serve(slow, pause, on(pool)).ok());
        ASSERT_TRUE(server
                        .serve(
                            quick, [](int value) { return value; }, on_arrival)
                        .ok());
        ASSERT_TRUE(server.serve(large, [](int) { return std::string(1'000'000, 'x'); }).ok());
        ASSERT_TRUE(server.serve(refused, [](int) -> Result<int> { return Error(Errc::exists); }).ok());
        NodeOptions all;
        all.timed_one_in = 1;
        const auto [client, peer] = Node::connect(server.address(), all).value();
        ASSERT_TRUE(client.call(slow, peer, 1).wait().ok());
        ASSERT_TRUE(client.call(quick, peer, 1).wait().ok());
        EXPECT_EQ(client.call(large, peer, 1).wait().value().size(), 1'000'000u);
        EXPECT_EQ(client.call(refused, peer, 1).wait().code(), Errc::exists);
        for (const char* const name : {"parts.slow", "parts.quick", "parts.large", "parts.refused"})
            EXPECT_EQ(timed(counts_of(client, name)), 1u) << name << " over " << place;
        EXPECT_GE(part(counts_of(client, "parts.slow").parts_us, CallPart::in_handler), 3'000u) << place;
    }
}

TEST(CallParts, ClaimsOfATargetAreLimitedToTheTimeThatPassed) {
    rpc::CallTimes times{100, 110, 200, 205, 2, 3, 12, 30, 40, 15};
    constexpr CallParts honest{2, 3, 5, 12, 30, 25, 15, 8, 5};
    EXPECT_EQ(hl::parts_of(times), honest);
    constexpr std::uint32_t most = ~std::uint32_t{0};
    constexpr CallParts liar{10, 0, 0, 0, 90, 0, 0, 0, 5};
    EXPECT_EQ(hl::parts_of({100, 110, 200, 205, most, most, most, most, most, most}), liar);
    times.transfers_us = most;
    constexpr CallParts moves{2, 3, 5, 12, 30, 0, 40, 8, 5};
    EXPECT_EQ(hl::parts_of(times), moves) << "transfers are in the handler";
    // The time of a round may be slightly older than times that were read directly.
    EXPECT_EQ(sum(hl::parts_of({100, 99, 98, 105, 1, 1, 1, 7, 7, 7})), 5u);
    EXPECT_EQ(sum(hl::parts_of({100, 120, 110, 115, 1, 1, 1, 7, 7, 7})), 15u);
    EXPECT_EQ(sum(hl::parts_of({100, 90, 80, 70, 1, 1, 1, 7, 7, 7})), 0u);
}

}  // namespace
}  // namespace cinnabar
