// SPDX-License-Identifier: BSD-3-Clause
// Loads that a server runs towards others for a client: what they count, who gets none, their limits, and that they end
// with their caller.
#include "perf/mesh_load.hpp"

#include "perf/histogram.hpp"
#include "perf/service.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/future.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>

namespace cinnabar::tools::perf {
namespace {

constexpr std::chrono::seconds load_time{100};

hl::Node serving_loads(bool allowed) {
    hl::NodeOptions node_options;
    node_options.rpc.handler_time_max = {};
    auto node = hl::Node::listen("tcp://127.0.0.1:0", node_options).value();
    ServiceOptions options;
    options.loads.allowed = allowed;
    EXPECT_TRUE(Service::serve_on(node, options));
    return node;
}

LoadIn short_load(std::vector<std::string> targets) {
    LoadIn in;
    in.warm_up_us = 20'000;
    in.measured_us = support::thread_sanitizer ? 2'000'000 : 200'000;
    in.call_us = 5'000'000;
    in.size = 64;
    in.depth = 2;
    in.targets = std::move(targets);
    return in;
}
LoadIn long_load(std::vector<std::string> targets) {
    LoadIn in = short_load(std::move(targets));
    in.measured_us = load_us_max - in.warm_up_us;
    return in;
}

hl::Connected client_of(const hl::Node& node) { return hl::Node::connect(node.address()).value(); }
Result<LoadOut> load_at(const hl::Connected& client, const LoadIn& in) {
    return client.node.call(load_rpc, client.peer, in, load_time).wait();
}
// Asks until the load before has ended.
Result<LoadOut> load_after_another(const hl::Connected& client, const LoadIn& in) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);  // less than a long load takes
    for (;;) {
        auto out = load_at(client, in);
        if (out.code() != Errc::busy || std::chrono::steady_clock::now() > until) return out;
    }
}

std::uint64_t failures_of(const LoadPair& pair) {
    std::uint64_t count = 0;
    for (const auto each : pair.failed_by) count += each;
    return count;
}
void expect_well(const LoadPair& pair, std::uint64_t size) {
    EXPECT_EQ(failures_of(pair), 0u) << int(pair.first_failure);
    EXPECT_EQ(pair.wrong, 0u);
    EXPECT_GT(pair.done, 0u);
    EXPECT_GT(pair.done_within, 0u);
    EXPECT_EQ(pair.checked_bytes, pair.done * size);
    EXPECT_FALSE(pair.gave_up);
    EXPECT_EQ(pair.transport, "tcp");
    const auto latency = Histogram::decoded(pair.latency, load_latency_bits);
    ASSERT_TRUE(latency);
    EXPECT_EQ(latency->count(), pair.done);
    EXPECT_GT(latency->min(), 0u);
}

TEST(PerfLoad, CallsToEachTargetAreCounted) {
    const auto origin = serving_loads(true);
    const auto one = serving_loads(false);
    const auto other = serving_loads(false);
    const auto out = load_at(client_of(origin), short_load({one.address(), other.address()}));
    ASSERT_TRUE(out) << out.error().message();
    ASSERT_EQ(out->pairs.size(), 2u);
    for (const auto& pair : out->pairs) expect_well(pair, 64);
}

TEST(PerfLoad, IsRunOnlyWhereItIsAllowed) {
    const auto origin = serving_loads(false);
    const auto target = serving_loads(false);
    EXPECT_EQ(load_at(client_of(origin), short_load({target.address()})).code(), Errc::permission);
}

TEST(PerfLoad, TargetsThatCannotBeCalledAreToldInTheirPairs) {
    const auto origin = serving_loads(true);
    const auto target = serving_loads(false);
    const auto without_echo = hl::Node::listen("tcp://127.0.0.1:0").value();
    const std::string gone = hl::Node::listen("tcp://127.0.0.1:0").value().address();
    const auto out =
        load_at(client_of(origin), short_load({gone, target.address(), "nonsense", without_echo.address()}));
    ASSERT_TRUE(out) << out.error().message();
    ASSERT_EQ(out->pairs.size(), 4u);
    expect_well(out->pairs[1], 64);
    const auto expect_failed = [&](std::size_t index, Errc code) {
        const auto& pair = out->pairs[index];
        EXPECT_EQ(static_cast<Errc>(pair.first_failure), code) << index;
        EXPECT_GT(failures_of(pair), 0u) << index;
        EXPECT_EQ(pair.done, 0u) << index;
        EXPECT_EQ(Histogram::decoded(pair.latency, load_latency_bits)->count(), 0u) << index;
    };
    expect_failed(0, Errc::refused);
    expect_failed(2, Errc::bad_address);
    expect_failed(3, Errc::no_such_rpc);
}

TEST(PerfLoad, IsBounded) {
    const LoadIn good = short_load({"tcp://127.0.0.1:1"});
    ASSERT_TRUE(check_load(good));
    const auto code_with = [&](const std::function<void(LoadIn&)>& change) {
        LoadIn in = good;
        change(in);
        return check_load(in).code();
    };
    const std::vector<std::string> many(load_targets_max, "tcp://127.0.0.1:1");
    EXPECT_EQ(code_with([](LoadIn& in) { in.targets.clear(); }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](LoadIn& in) { in.measured_us = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](LoadIn& in) { in.call_us = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](LoadIn& in) { in.size = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](LoadIn& in) { in.depth = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](LoadIn& in) { in.measured_us = load_us_max - in.warm_up_us; }), Errc::ok);
    EXPECT_EQ(code_with([](LoadIn& in) { in.measured_us = load_us_max - in.warm_up_us + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.measured_us = ~std::uint64_t{0}; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.warm_up_us = ~std::uint64_t{0}; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.call_us = load_us_max + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.depth = load_depth_max; }), Errc::ok);
    EXPECT_EQ(code_with([](LoadIn& in) { in.depth = load_depth_max + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.size = load_size_max; }), Errc::ok);
    EXPECT_EQ(code_with([](LoadIn& in) { in.size = load_size_max + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](LoadIn& in) { in.size = ~std::uint64_t{0}; }), Errc::too_large);
    EXPECT_EQ(code_with([&](LoadIn& in) { in.targets = many; }), Errc::ok);
    EXPECT_EQ(code_with([&](LoadIn& in) { (in.targets = many).push_back(many.front()); }), Errc::too_large);
    EXPECT_EQ(code_with([&](LoadIn& in) { in.targets = many, in.depth = 65; }), Errc::too_large) << "calls in flight";
    EXPECT_EQ(code_with([](LoadIn& in) { in.size = load_size_max, in.depth = 65; }), Errc::too_large) << "their bytes";
    // The server checks as well.
    const auto origin = serving_loads(true);
    LoadIn over = good;
    over.depth = load_depth_max + 1;
    EXPECT_EQ(load_at(client_of(origin), over).code(), Errc::too_large);
}

BulkLoadIn bulk_load(std::vector<std::string> targets, bool push = false) {
    const LoadIn like = short_load(std::move(targets));
    return {like.warm_up_us, like.measured_us, like.call_us, 100'000, 2, push, "", like.targets};
}
Result<BulkLoadOut> load_at(const hl::Connected& client, const BulkLoadIn& in) {
    return client.node.call(bulk_load_rpc, client.peer, in, load_time).wait();
}

TEST(PerfLoad, TransfersWithEachTargetAreCounted) {
    const auto origin = serving_loads(true);
    const auto one = serving_loads(false);
    const auto other = serving_loads(false);
    for (const bool push : {false, true}) {
        const auto in = bulk_load({one.address(), "nonsense", other.address()}, push);
        const auto out = load_at(client_of(origin), in);
        ASSERT_TRUE(out) << out.error().message();
        ASSERT_EQ(out->pairs.size(), 3u);
        EXPECT_EQ(static_cast<Errc>(out->pairs[1].transfers.first_failure), Errc::bad_address);
        EXPECT_EQ(out->pairs[1].busy_us, 0u);
        for (const std::size_t i : {0, 2}) {
            expect_well(out->pairs[i].transfers, 100'000);
            EXPECT_GT(out->pairs[i].busy_us, 0u);
            EXPECT_LE(out->pairs[i].busy_us, out->busy_us);
        }
        EXPECT_LE(out->busy_us, in.measured_us);
    }
}

TEST(PerfLoad, OfTransfersIsBoundedAndMustBeAllowed) {
    const auto code_with = [](const std::function<void(BulkLoadIn&)>& change) {
        BulkLoadIn in = bulk_load({"tcp://127.0.0.1:1", "tcp://127.0.0.1:2"});
        change(in);
        return check_load(in).code();
    };
    EXPECT_EQ(code_with([](BulkLoadIn&) {}), Errc::ok);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.size = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.depth = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.targets.clear(); }), Errc::invalid_argument);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.size = bulk_load_bytes_max / 4; }), Errc::ok);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.size = bulk_load_bytes_max / 4 + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.size = ~std::uint64_t{0}; }), Errc::too_large);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.depth = load_depth_max + 1; }), Errc::too_large);
    EXPECT_EQ(code_with([](BulkLoadIn& in) { in.measured_us = ~std::uint64_t{0}; }), Errc::too_large);
    const auto origin = serving_loads(true);
    BulkLoadIn over = bulk_load({origin.address()});
    over.size = bulk_load_bytes_max;
    EXPECT_EQ(load_at(client_of(origin), over).code(), Errc::too_large) << "the server checks as well";
    const auto other = serving_loads(false);
    EXPECT_EQ(load_at(client_of(other), bulk_load({origin.address()})).code(), Errc::permission);
}

TEST(PerfLoad, TransfersEndWithTheirCallerAndFreeThePlace) {
    const auto origin = serving_loads(true);
    const auto target = serving_loads(false);
    const auto client = client_of(origin);
    BulkLoadIn endless = bulk_load({target.address()});
    endless.measured_us = load_us_max - endless.warm_up_us;
    auto first = client.node.call(bulk_load_rpc, client.peer, endless, load_time).future();
    EXPECT_EQ(load_at(client, short_load({target.address()})).code(), Errc::busy) << "one place for both";
    first.cancel();
    EXPECT_EQ(first.get().code(), Errc::canceled);
    EXPECT_TRUE(load_after_another(client, short_load({target.address()})));
}

TEST(PerfLoad, ThereIsOneAtATimeAndACanceledOneEnds) {
    const auto origin = serving_loads(true);
    const auto target = serving_loads(false);
    const auto client = client_of(origin);
    auto first = client.node.call(load_rpc, client.peer, long_load({target.address()}), load_time).future();
    EXPECT_EQ(load_at(client, short_load({target.address()})).code(), Errc::busy);
    first.cancel();
    EXPECT_EQ(first.get().code(), Errc::canceled);
    const auto next = load_after_another(client, short_load({target.address()}));
    ASSERT_TRUE(next) << next.error().message();
    expect_well(next->pairs.front(), 64);
}

TEST(PerfLoad, EndsWhenItsCallerIsGone) {
    const auto origin = serving_loads(true);
    const auto target = serving_loads(false);
    const auto other = client_of(origin);
    {
        const auto client = client_of(origin);
        const auto load = client.node.call(load_rpc, client.peer, long_load({target.address()}), load_time).future();
        // Answered after the load has begun, since both go over one connection.
        EXPECT_EQ(load_at(client, short_load({target.address()})).code(), Errc::busy);
    }
    EXPECT_TRUE(load_after_another(other, short_load({target.address()})));
}

TEST(PerfLoad, EndsWithItsServer) {
    std::optional<hl::Node> origin(serving_loads(true));
    const auto target = serving_loads(false);
    const auto client = client_of(*origin);
    auto load = client.node.call(load_rpc, client.peer, long_load({target.address()}), load_time).future();
    EXPECT_EQ(load_at(client, short_load({target.address()})).code(), Errc::busy);
    origin.reset();
    EXPECT_FALSE(load.get());
}

}  // namespace
}  // namespace cinnabar::tools::perf
