// SPDX-License-Identifier: BSD-3-Clause
// What a node reports about itself, and to which peers.
#include "integration/gate.hpp"
#include "support/silent_listener.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/node_reports.hpp>
#include <cinnabar/hl/share.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using hl::Introspection;
using rpc::CallPhase;
namespace look = hl::introspection;

constexpr Rpc<int(int)> echo{"look.echo"};
constexpr Rpc<int(int)> stuck_there{"look.stuck"};

NodeOptions asked_by(Introspection by) {
    NodeOptions options;
    options.introspection = by;
    return options;
}

std::string shm_name() { return "shm://introspection-" + std::to_string(::getpid()); }

template <typename R>
auto all(const Node& node, const R& rpc, const Addr& of, std::uint32_t count = 64) {
    std::vector<std::decay_t<decltype(std::declval<typename R::Output>().items.front())>> items;
    look::Ask ask{0, count};
    do {
        auto page = node.call(rpc, of, ask).wait().value();
        EXPECT_LE(page.items.size(), std::min(count, 64u));
        std::move(page.items.begin(), page.items.end(), std::back_inserter(items));
        ask.from = page.next;
    } while (ask.from != 0);
    return items;
}

// The first call of that RPC that `node` reports, as origin or as target.
std::optional<look::CallReport> find_call(const Node& node, const std::string& rpc, bool as_target) {
    for (const auto& call : all(node, look::calls, node.self_addr())) {
        if (call.rpc == rpc && call.as_target == as_target) return call;
    }
    return {};
}

// Asks until the call is in that phase.
look::CallReport await_phase(const Node& node, const std::string& rpc, bool as_target, CallPhase phase) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    std::optional<look::CallReport> found;
    while (std::chrono::steady_clock::now() < end) {
        found = find_call(node, rpc, as_target);
        if (found && found->phase == static_cast<std::uint8_t>(phase)) return *found;
    }
    ADD_FAILURE() << rpc << " is never in the phase: " << to_string(phase) << "; at last it "
                  << (found ? to_string(static_cast<CallPhase>(found->phase)) : "was not there");
    return {};
}

TEST(Introspection, IsOffUnlessAskedFor) {
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    EXPECT_EQ(server.call(look::node, server.self_addr()).wait().code(), Errc::no_such_rpc);
}

TEST(Introspection, OfTheOwnUserIsForThisProcessAndShm) {
    const auto server = Node::listen({"tcp://127.0.0.1:0", shm_name()}, asked_by(Introspection::own_user)).value();
    EXPECT_TRUE(server.call(look::node, server.self_addr()).wait().ok());
    for (const std::string transport : {"shm", "tcp"}) {
        const auto [client, peer] = Node::connect(server.address(), {}, transport).value();
        const Errc expected = transport == "shm" ? Errc::ok : Errc::permission;
        EXPECT_EQ(client.call(look::node, peer).wait().code(), expected) << transport;
        EXPECT_EQ(client.call(look::rpcs, peer, look::Ask()).wait().code(), expected) << transport;
        EXPECT_EQ(client.call(look::peers, peer, look::Ask()).wait().code(), expected) << transport;
        EXPECT_EQ(client.call(look::calls, peer, look::Ask()).wait().code(), expected) << transport;
    }
}

TEST(Introspection, OfAnyoneIsForThoseOfANetwork) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto [client, peer] = Node::connect(server.address()).value();
    const auto report = client.call(look::node, peer).wait().value();
    EXPECT_EQ(report.process, ::getpid());
    EXPECT_EQ(report.user, ::geteuid());
    EXPECT_GT(report.memory_bytes_max, 0u);
    EXPECT_FALSE(report.draining);
    ASSERT_EQ(report.contexts.size(), 1u);
    EXPECT_EQ(report.contexts[0].connections, 1u);
    ASSERT_FALSE(report.transports.empty());
    EXPECT_EQ(report.transports[0].scheme, "tcp");
    EXPECT_EQ(report.transports[0].endpoints, std::vector{server.endpoints().front()});
}

TEST(Introspection, TellsWhatTheTransportsHaveFound) {
    const auto server = Node::listen({"tcp://127.0.0.1:0", shm_name()}, asked_by(Introspection::own_user)).value();
    const auto report = server.call(look::node, server.self_addr()).wait().value();
    std::string of_tcp;
    std::string of_shm;
    for (const auto& transport : report.transports) {
        if (transport.scheme == "tcp") of_tcp = transport.diagnosis;
        if (transport.scheme == "shm") of_shm = transport.diagnosis;
    }
    EXPECT_NE(of_tcp.find("listens at tcp://127.0.0.1:"), std::string::npos) << of_tcp;
    EXPECT_NE(of_shm.find("listens at " + shm_name()), std::string::npos) << of_shm;
}

TEST(Introspection, CountsTheCallsOfEachRpc) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    ASSERT_TRUE(server.serve(echo, [](int value) { return value; }).ok());
    ASSERT_TRUE(server.serve(stuck_there, [](int) -> Result<int> { return Error(Errc::exists); }).ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.call(echo, peer, i).wait().ok());
    ASSERT_FALSE(client.call(stuck_there, peer, 1).wait().ok());
    for (const auto& rpc : all(client, look::rpcs, peer, 2)) {
        if (rpc.name == "look.echo") {
            EXPECT_EQ(rpc.requests, 5u);
            EXPECT_EQ(rpc.requests_failed, 0u);
            EXPECT_EQ(rpc.serving, 1u);
            std::uint64_t timed = 0;
            for (const std::uint64_t count : rpc.serve_time) timed += count;
            EXPECT_EQ(timed, 5u);
            EXPECT_TRUE(rpc.serve_time.empty() || rpc.serve_time.back() != 0);
        } else if (rpc.name == "look.stuck") {
            EXPECT_EQ(rpc.requests_failed, 1u);
        }
    }
}

hl::RpcCounts stats_of(const Node& node, const std::string& rpc) {
    for (hl::RpcCounts& counts : node.stats()) {
        if (counts.name == rpc) return std::move(counts);
    }
    return {};
}

TEST(Introspection, CountsFailedCallsByPhaseAndError) {
    test::Gate gate;
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    const auto pool = server.make_pool({.threads = 1}).value();
    ASSERT_TRUE(server.serve(echo, [](int) -> Result<int> { return Error(Errc::exists); }).ok());
    ASSERT_TRUE(server
                    .serve(
                        stuck_there, [&gate](int value) { return gate.pass(), value; }, on(pool))
                    .ok());
    const auto [client, peer] = Node::connect(server.address(), asked_by(Introspection::own_user)).value();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.call(echo, peer, i).wait().code(), Errc::exists);
    EXPECT_EQ(client.call(stuck_there, peer, 1, 20ms).wait().code(), Errc::timed_out);
    gate.open();

    const auto failed = stats_of(client, "look.echo").failures;
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].phase, CallPhase::sent) << "the answer was the error";
    EXPECT_EQ(failed[0].error, Errc::exists);
    EXPECT_EQ(failed[0].calls, 3u);
    const auto late = stats_of(client, "look.stuck").failures;
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].error, Errc::timed_out);
    EXPECT_EQ(late[0].calls, 1u);
    EXPECT_TRUE(stats_of(server, "look.echo").failures.empty()) << "these are of the calls of a node";

    const auto report = client.call(look::node, client.self_addr()).wait().value();
    ASSERT_EQ(report.failures.size(), 2u);
    EXPECT_EQ(report.failures[0].rpc, "look.echo");
    EXPECT_EQ(report.failures[0].phase, static_cast<std::uint8_t>(CallPhase::sent));
    EXPECT_EQ(report.failures[0].error, static_cast<std::uint8_t>(Errc::exists));
    EXPECT_EQ(report.failures[0].calls, 3u);
    EXPECT_EQ(report.failures[1].rpc, "look.stuck");
}

TEST(Introspection, ReportsTheMostFrequentFailuresOnly) {
    constexpr Rpc<int(int)> first{"look.fails.1"};
    constexpr Rpc<int(int)> second{"look.fails.2"};
    constexpr Rpc<int(int)> third{"look.fails.3"};
    constexpr int codes_from = static_cast<int>(Errc::no_such_rpc);
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    const auto [client, peer] = Node::connect(server.address(), asked_by(Introspection::own_user)).value();
    for (const auto& rpc : {first, second, third}) {
        ASSERT_TRUE(server.serve(rpc, [](int code) -> Result<int> { return Error(static_cast<Errc>(code)); }).ok());
        for (int code = codes_from; code < errc_count; ++code) EXPECT_FALSE(client.call(rpc, peer, code).wait().ok());
    }
    EXPECT_FALSE(client.call(third, peer, codes_from).wait().ok());
    EXPECT_EQ(stats_of(client, "look.fails.1").failures.size(), static_cast<std::size_t>(errc_count - codes_from));
    const auto report = client.call(look::node, client.self_addr()).wait().value();
    ASSERT_EQ(report.failures.size(), look::failures_max);
    EXPECT_EQ(report.failures[0].rpc, "look.fails.3");
    EXPECT_EQ(report.failures[0].calls, 2u);
}

// Contracts exist at compile time only, so a node learns no names from its peers.
constexpr std::size_t many_rpcs = 1'040;
constexpr std::string_view many_begin = "look.0000";

constexpr std::array<char, many_rpcs * many_begin.size()> names_of_many() {
    std::array<char, many_rpcs * many_begin.size()> names{};
    for (std::size_t i = 0; i < many_rpcs; ++i) {
        for (std::size_t at = 0; at < many_begin.size(); ++at) names[i * many_begin.size() + at] = many_begin[at];
        std::size_t number = i;
        for (std::size_t digit = 1; digit <= 4; ++digit, number /= 10)
            names[(i + 1) * many_begin.size() - digit] = static_cast<char>('0' + number % 10);
    }
    return names;
}
constexpr auto many_names = names_of_many();

constexpr std::string_view name_of_many(std::size_t i) {
    return std::string_view(many_names.data(), many_names.size()).substr(i * many_begin.size(), many_begin.size());
}

template <std::size_t I>
constexpr Rpc<int(int)> one_of_many{name_of_many(I)};

template <std::size_t... I>
constexpr auto make_many(std::index_sequence<I...>) {
    return std::array<Rpc<int(int)>, sizeof...(I)>{one_of_many<I>...};
}
constexpr auto rpcs_of_many = make_many(std::make_index_sequence<many_rpcs>());

TEST(Introspection, RpcsBeyondThoseThatAreCountedAreCalledAllTheSame) {
    static_assert(sizeof(hl::RpcStats) <= 34'500, "docs/limits.md says how large it is");
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server.serve(rpcs_of_many.back(), [](int value) { return value; }).ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    for (std::size_t i = 0; i + 1 < rpcs_of_many.size(); ++i)
        ASSERT_EQ(client.call(rpcs_of_many[i], peer, 1).wait().code(), Errc::no_such_rpc) << name_of_many(i);
    EXPECT_EQ(client.call(rpcs_of_many.back(), peer, 7).wait().value(), 7);
    const std::vector<hl::RpcCounts> counted = client.stats();
    EXPECT_EQ(counted.size(), 1024u);
    const auto calls_of = [&counted](std::string_view name) {
        std::uint64_t calls = 0;
        for (const hl::RpcCounts& counts : counted) calls += counts.name == name ? counts.calls : 0;
        return calls;
    };
    EXPECT_EQ(calls_of(name_of_many(0)), 1u);
    EXPECT_EQ(calls_of(name_of_many(rpcs_of_many.size() - 1)), 0u);
}

TEST(Introspection, TellsOfPeersPoolsAndTheLog) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto pool = server.make_pool({.threads = 2, .queue_max = 7, .name = "look-pool"}).value();
    std::vector<Connected> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(Node::connect(server.address()).value());
        ASSERT_TRUE(clients.back().node.call(look::node, clients.back().peer).wait().ok());
    }
    const auto peers = all(server, look::peers, server.self_addr(), 2);
    const auto over_tcp =
        std::count_if(peers.begin(), peers.end(), [](const auto& peer) { return peer.scheme == "tcp"; });
    EXPECT_EQ(over_tcp, 5);
    for (const auto& peer : peers) {
        if (peer.scheme != "tcp") continue;
        EXPECT_EQ(peer.state, "connected") << peer.peer;
        EXPECT_GT(peer.credits_given, 0u) << peer.peer;
    }
    set_log_sink([](const LogLine&, void*) {}, nullptr);
    log(LogLevel::warning, "app", "the test says so");
    set_log_sink(nullptr, nullptr);
    const auto report = server.call(look::node, server.self_addr()).wait().value();
    ASSERT_EQ(report.pools.size(), 1u);
    EXPECT_EQ(report.pools[0].name, "look-pool");
    EXPECT_EQ(report.pools[0].threads, 2u);
    EXPECT_EQ(report.pools[0].queue_max, 7u);
    ASSERT_FALSE(report.lines.empty());
    EXPECT_EQ(report.lines.back().text, "the test says so");
    EXPECT_EQ(report.lines.back().module, "app");
}

// Asks until the only pool of the node has so many requests that have not begun.
look::NodeReport await_queued(const Node& node, std::uint32_t queued) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    for (;;) {
        auto report = node.call(look::node, node.self_addr()).wait().value();
        const bool there = report.pools.size() == 1 && report.pools[0].queued == queued;
        if (there || std::chrono::steady_clock::now() > end) return report;
    }
}

TEST(Introspection, TellsWhatAPoolHasToDo) {
    constexpr Rpc<int(int)> urgent{"look.urgent"};
    constexpr Rpc<int(int)> unimportant{"look.unimportant"};
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto pool = server.make_pool({.threads = 2}).value();
    test::Gate gate;
    const auto handler = [&gate](int value) { return gate.pass(), value; };
    ASSERT_TRUE(server.serve(stuck_there, handler, on(pool)).ok());
    ASSERT_TRUE(server.serve(urgent, handler, on(pool, hl::Priority::high)).ok());
    ASSERT_TRUE(server.serve(unimportant, handler, on(pool, hl::Priority::low)).ok());
    std::vector<Future<int>> calls;
    const auto call = [&](const Rpc<int(int)>& rpc, int count) {
        for (int i = 0; i < count; ++i) calls.push_back(server.call(rpc, server.self_addr(), i).future());
    };
    call(stuck_there, 2);
    gate.await(2);
    call(urgent, 1);
    call(stuck_there, 3);
    call(unimportant, 2);
    const auto busy = await_queued(server, 6);
    ASSERT_EQ(busy.pool_loads.size(), 1u);
    EXPECT_EQ(busy.pool_loads[0].running, 2u);
    EXPECT_EQ(busy.pool_loads[0].resumed, 0u);
    EXPECT_EQ(busy.pool_loads[0].queued, (std::array<std::uint32_t, 3>{1, 3, 2}));
    gate.open();
    for (Future<int>& each : calls) EXPECT_TRUE(each.get().ok());
    const auto idle = await_queued(server, 0);
    EXPECT_EQ(idle.pool_loads.at(0).queued, (std::array<std::uint32_t, 3>{}));
}

TEST(Introspection, TellsOfLimitsOfMemoryAndOfShares) {
    NodeOptions options = asked_by(Introspection::anyone);
    options.buffer_bytes_max = 5 << 20;
    options.rpc.decoded_bytes_max = 7 << 20;
    options.contexts = 2;
    const auto server = Node::listen("tcp://127.0.0.1:0", options).value();
    std::vector<std::uint64_t> memory(16);
    auto shared = hl::share(server, std::span(memory)).value();
    const auto report = server.call(look::node, server.self_addr()).wait().value();
    EXPECT_EQ(report.buffer_bytes_max, 5u << 20);
    EXPECT_EQ(report.shares, 1u);
    ASSERT_EQ(report.context_memory.size(), report.contexts.size());
    for (const auto& context : report.context_memory) {
        EXPECT_EQ(context.decoded_bytes_max, 7u << 20);
        EXPECT_GT(context.large_bytes_max, 0u);
    }
    ASSERT_EQ(shared.withdraw(), Errc::ok);
    EXPECT_EQ(server.call(look::node, server.self_addr()).wait().value().shares, 0u);
}

// look::NodeReport as it was in an earlier version.
struct EarlierReport {
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::uint64_t up_us = 0;
    std::uint64_t processor_us = 0;
    std::uint64_t memory_bytes_max = 0;
    std::uint64_t buffer_bytes = 0;
    bool draining = false;
    std::vector<look::ContextReport> contexts;
    std::vector<look::TransportReport> transports;
    std::vector<look::PoolReport> pools;
    std::vector<look::LineReport> lines;
};
constexpr Rpc<EarlierReport()> earlier_node{"cinnabar.node"};

TEST(Introspection, IsUnderstoodByAnEarlierVersion) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto pool = server.make_pool({.threads = 3, .name = "look-pool"}).value();
    const auto [client, peer] = Node::connect(server.address()).value();
    const auto report = client.call(earlier_node, peer).wait();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->process, ::getpid());
    ASSERT_EQ(report->pools.size(), 1u);
    EXPECT_EQ(report->pools[0].threads, 3u);
}

TEST(Introspection, UnderstandsAnEarlierVersion) {
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server
                    .serve(earlier_node,
                           [] {
                               EarlierReport report;
                               report.process = 42;
                               report.pools.push_back({"pool", 1, 2, 3});
                               return report;
                           })
                    .ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    const auto report = client.call(look::node, peer).wait();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->process, 42);
    EXPECT_EQ(report->pools.at(0).queued, 2u);
    EXPECT_TRUE(report->pool_loads.empty());
    EXPECT_TRUE(report->context_memory.empty());
    EXPECT_EQ(report->buffer_bytes_max, 0u);
}

TEST(Introspection, CountsTheBytesOfEachPeer) {
    constexpr Rpc<std::size_t(std::string_view)> takes{"look.takes"};
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    ASSERT_TRUE(server.serve(takes, [](std::string_view text) { return text.size(); }).ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    constexpr std::size_t large_bytes = 1'000'000;
    ASSERT_EQ(client.call(takes, peer, "short").wait().value(), 5u);
    ASSERT_EQ(client.call(takes, peer, std::string(large_bytes, 'x')).wait().value(), large_bytes);
    const auto page = server.call(look::peers, server.self_addr(), look::Ask()).wait().value();
    ASSERT_EQ(page.traffic.size(), page.items.size());
    int over_tcp = 0;
    for (std::size_t i = 0; i < page.items.size(); ++i) {
        if (page.items[i].scheme != "tcp") continue;
        ++over_tcp;
        EXPECT_GT(page.traffic[i].bytes_received, large_bytes) << "the server fetches large arguments";
        EXPECT_GT(page.traffic[i].bytes_sent, 0u);
        EXPECT_LT(page.traffic[i].bytes_sent, large_bytes);
    }
    EXPECT_EQ(over_tcp, 1);
}

TEST(Introspection, HasHistogramsOfEachPeerIfAskedForThem) {
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server.serve(echo, [](int value) { return value; }).ok());
    NodeOptions all_timed = asked_by(Introspection::anyone);
    all_timed.timed_one_in = 1;
    const auto client = Node::listen("tcp://127.0.0.1:0", all_timed).value();
    const Addr peer = client.lookup(server.address()).value();
    constexpr std::uint64_t calls = 5;
    for (std::uint64_t i = 0; i < calls; ++i) ASSERT_TRUE(client.call(echo, peer, 1).wait().ok());
    look::Ask ask;
    EXPECT_TRUE(client.call(look::peers, client.self_addr(), ask).wait().value().histograms.empty());
    ask.histograms = true;
    const auto page = client.call(look::peers, client.self_addr(), ask).wait().value();
    ASSERT_EQ(page.histograms.size(), page.items.size());
    int over_tcp = 0;
    for (std::size_t i = 0; i < page.items.size(); ++i) {
        if (page.items[i].scheme != "tcp") continue;
        ++over_tcp;
        EXPECT_EQ(page.items[i].timed, calls);
        ASSERT_EQ(page.histograms[i].counts.size(), hl::call_parts + 1);
        for (const auto& counts : page.histograms[i].counts) {
            EXPECT_LE(counts.size(), 33u);
            ASSERT_FALSE(counts.empty());
            EXPECT_NE(counts.back(), 0u);
            EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), calls);
        }
    }
    EXPECT_EQ(over_tcp, 1);
}

constexpr Rpc<look::Page<look::PeerReport>(look::Ask)> earlier_peers{"cinnabar.peers"};

TEST(Introspection, OfPeersIsUnderstoodByAnEarlierVersionAndTheReverse) {
    const auto now = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto [client, peer] = Node::connect(now.address()).value();
    const auto page = client.call(earlier_peers, peer, look::Ask()).wait();
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_FALSE(page->items.empty());
    const auto earlier = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(earlier
                    .serve(earlier_peers,
                           [](const look::Ask&) {
                               look::Page<look::PeerReport> one;
                               one.items.emplace_back().peer = "a peer";
                               return one;
                           })
                    .ok());
    const auto [asks, at_earlier] = Node::connect(earlier.address()).value();
    const auto report = asks.call(look::peers, at_earlier, look::Ask()).wait();
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->items.size(), 1u);
    EXPECT_EQ(report->items[0].peer, "a peer");
    EXPECT_TRUE(report->traffic.empty());
}

TEST(Introspection, APageIsBoundedWhateverIsAskedFor) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto pool = server.make_pool({.threads = 1}).value();
    test::Gate gate;
    ASSERT_TRUE(server
                    .serve(
                        stuck_there, [&gate](int value) { return gate.pass(), value; }, on(pool))
                    .ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    std::vector<Future<int>> calls;
    for (int i = 0; i < 200; ++i) calls.push_back(client.call(stuck_there, peer, i).future());
    gate.await(1);
    const auto page = client.call(look::calls, peer, look::Ask{0, 1'000'000}).wait().value();
    EXPECT_LE(page.items.size(), 64u);
    for (const std::uint64_t from : {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{1} << 47}) {
        EXPECT_TRUE(client.call(look::calls, peer, look::Ask{from, 64}).wait().value().items.empty());
        EXPECT_TRUE(client.call(look::peers, peer, look::Ask{from, 64}).wait().value().items.empty());
        EXPECT_TRUE(client.call(look::rpcs, peer, look::Ask{from, 64}).wait().value().items.empty());
    }
    gate.open();
    for (Future<int>& call : calls) EXPECT_TRUE(call.get().ok());
}

// A plain handler that does not return holds the only thread of the node.
TEST(Introspection, IsAnsweredWhileAHandlerHoldsTheThread) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    test::Gate gate;
    ASSERT_TRUE(server.serve(stuck_there, [&gate](int value) { return gate.pass(), value; }).ok());
    const auto [client, peer] = Node::connect(server.address()).value();
    Future<int> first = client.call(stuck_there, peer, 1).future();
    Future<int> second = client.call(stuck_there, peer, 2).future();
    gate.await(1);
    const auto [late, same] = Node::connect(server.address()).value();
    EXPECT_EQ(late.call(look::node, same, 10s).wait().value().process, ::getpid());
    EXPECT_FALSE(all(late, look::peers, same).empty());
    std::vector<std::uint8_t> phases;
    for (const auto& call : all(late, look::calls, same)) {
        if (call.rpc != "look.stuck") continue;
        phases.push_back(call.phase);
        EXPECT_GT(call.age_us, 0u);
    }
    std::sort(phases.begin(), phases.end());
    const std::vector expected{static_cast<std::uint8_t>(CallPhase::waits_for_handler),
                               static_cast<std::uint8_t>(CallPhase::in_handler)};
    EXPECT_EQ(phases, expected);
    gate.open();
    EXPECT_TRUE(first.get().ok());
    EXPECT_TRUE(second.get().ok());
}

TEST(Introspection, ACallIsSeenAtBothSidesWhileItsHandlerRuns) {
    const auto server = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const auto pool = server.make_pool({.threads = 1}).value();
    test::Gate gate;
    ASSERT_TRUE(server
                    .serve(
                        stuck_there, [&gate](int value) { return gate.pass(), value; }, on(pool))
                    .ok());
    const auto [client, peer] = Node::connect(server.address(), asked_by(Introspection::own_user)).value();
    Future<int> call = client.call(stuck_there, peer, 7).future();
    gate.await(1);
    const auto at_target = await_phase(server, "look.stuck", true, CallPhase::in_handler);
    EXPECT_GT(at_target.age_us, 0u);
    EXPECT_LE(at_target.left_us, 30'000'000u);
    EXPECT_EQ(at_target.scheme, "tcp");
    gate.open();
    EXPECT_EQ(call.get().value(), 7);
    EXPECT_FALSE(find_call(server, "look.stuck", true)) << "it is over";
}

// The handler blocks the server's loop, which grants no credits meanwhile. The client listens, too, since a node
// without an address cannot be asked.
TEST(Introspection, ACallThatWaitsSaysForWhat) {
    test::Gate gate;
    NodeOptions narrow = asked_by(Introspection::off);
    narrow.rpc.credits_per_peer_max = 1;
    narrow.rpc.context.initial_credits = 1;
    narrow.rpc.handler_time_max = {};
    const auto server = Node::listen("tcp://127.0.0.1:0", narrow).value();
    ASSERT_TRUE(server.serve(stuck_there, [&gate](int value) { return gate.pass(), value; }).ok());
    const auto client = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const Addr peer = client.lookup(server.address()).value();
    std::vector<Future<int>> calls;
    for (int i = 0; i < 12; ++i) calls.push_back(client.call(stuck_there, peer, i).future());
    gate.await(1);
    const auto waits = await_phase(client, "look.stuck", false, CallPhase::waits_for_credit);
    EXPECT_EQ(waits.credits, 0u);
    EXPECT_EQ(waits.peer, peer.to_string());
    EXPECT_GT(waits.age_us, 0u);
    int sent = 0;
    std::uint32_t last = 0;
    for (const auto& call : all(client, look::calls, client.self_addr())) {
        if (call.rpc != "look.stuck") continue;
        sent += call.phase == static_cast<std::uint8_t>(CallPhase::sent) ? 1 : 0;
        last = std::max(last, call.ahead);
    }
    EXPECT_EQ(sent, 1);
    EXPECT_EQ(last, 10u) << "the eleventh of those that wait has ten before it";
    gate.open();
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

TEST(Introspection, ACallToASilentListenerIsConnecting) {
    const support::SilentListener silent;
    const auto client = Node::listen("tcp://127.0.0.1:0", asked_by(Introspection::anyone)).value();
    const Addr peer = client.lookup("tcp://" + silent.host_and_port()).value();
    Future<int> call = client.call(echo, peer, 1).future();
    const auto seen = await_phase(client, "look.echo", false, CallPhase::connecting);
    EXPECT_EQ(seen.peer, peer.to_string());
    call.cancel();
    const auto ended = call.get();
    EXPECT_EQ(ended.code(), Errc::canceled);
    EXPECT_NE(ended.error().subject.find("over tcp: connecting for "), std::string::npos) << ended.error().subject;
}

}  // namespace
}  // namespace cinnabar
