// SPDX-License-Identifier: BSD-3-Clause
// What is told of a request that waits in the queue of a pool.
#include "integration/gate.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/node_reports.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using rpc::CallPhase;
namespace look = hl::introspection;

constexpr Rpc<int(int)> queued{"look.queued"};

// Of the requests that the node serves, in their order.
std::vector<CallPhase> phases_at(const Node& node) {
    std::vector<CallPhase> phases;
    for (const auto& call : node.call(look::calls, node.self_addr(), look::Ask{0, 64}).wait().value().items) {
        if (call.rpc == queued.name().text && call.as_target) phases.push_back(static_cast<CallPhase>(call.phase));
    }
    std::sort(phases.begin(), phases.end());
    return phases;
}

hl::RpcCounts counts_of(const Node& node) {
    for (const auto& counts : node.stats()) {
        if (counts.name == queued.name().text) return counts;
    }
    ADD_FAILURE() << "nothing is told of it";
    return {};
}

TEST(PoolQueue, ARequestInItWaitsForItsHandler) {
    NodeOptions seen;
    seen.introspection = hl::Introspection::own_user;
    const auto server = Node::listen("tcp://127.0.0.1:0", seen).value();
    const auto pool = server.make_pool({.threads = 1}).value();
    test::Gate gate;
    const auto passes = [&gate](int value) { return gate.pass(), value; };
    ASSERT_TRUE(server.serve(queued, passes, on(pool)).ok());
    NodeOptions timed;
    timed.timed_one_in = 1;
    const auto [client, peer] = Node::connect(server.address(), timed).value();
    Future<int> first = client.call(queued, peer, 1).future();
    gate.await(1);
    Future<int> second = client.call(queued, peer, 2).future();

    const std::vector expected{CallPhase::waits_for_handler, CallPhase::in_handler};
    std::vector<CallPhase> phases;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (phases != expected && std::chrono::steady_clock::now() < end) phases = phases_at(server);
    EXPECT_EQ(phases, expected);
    EXPECT_FALSE(second.wait_for(50ms));
    gate.open();
    EXPECT_EQ(first.get().value(), 1);
    EXPECT_EQ(second.get().value(), 2);

    EXPECT_GE(counts_of(client).parts_us[static_cast<std::size_t>(hl::CallPart::for_handler)], 50'000u) << "the second";
    const hl::RpcCounts served = counts_of(server);
    EXPECT_EQ(served.serve_time.total(), 2u);
    EXPECT_LT(served.serve_time.quantile_us(0.25), 50'000u) << "the second: its handler did not wait";
}

}  // namespace
}  // namespace cinnabar
