// SPDX-License-Identifier: BSD-3-Clause
// Nodes of one process that reach each other over self or on a simulated network, in the simplest form.
#include "support/foreign_coroutine.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/caller.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> twice{"twice"};
constexpr Rpc<int(int)> slow_twice{"slow_twice"};
constexpr Rpc<std::uint64_t(Bulk)> total{"total"};
constexpr Rpc<int(int)> back{"back"};
constexpr Rpc<int(Bulk)> hold{"hold"};
constexpr OneWay<int> tell{"tell"};

void serve(const Node& node) {
    ASSERT_TRUE(node.serve(twice, [](int value) { return 2 * value; }).ok());
    const auto slow = [](RequestOf<slow_twice> request) -> Task<Result<int>> {
        if (const Errc woken = co_await request.node().sleep_for(1h); woken != Errc::ok) co_return woken;
        co_return 2 * *request;
    };
    ASSERT_TRUE(node.serve(slow_twice, slow).ok());
    const auto add_up = [](RequestOf<total> request) -> Task<Result<std::uint64_t>> {
        CINNABAR_CO_TRY(const auto values, co_await request->fetch<std::uint32_t>());
        co_return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    };
    ASSERT_TRUE(node.serve(total, add_up).ok());
    // Calls its caller back.
    const auto call_back = [](Request<int> request) -> Task<Result<int>> {
        co_return co_await request.node().call(twice, request.source(), *request + 1);
    };
    ASSERT_TRUE(node.serve(back, call_back).ok());
}

std::uint64_t sum_at(const Node& client, const Addr& to) {
    std::vector<std::uint32_t> values(300'000, 3);
    const auto region = client.expose(std::span<const std::uint32_t>(values)).value();
    return client.call(total, to, region).wait().value();
}

TEST(Self, two_nodes_of_a_process_reach_each_other) {
    const Node server = Node::listen("self://").value();
    const Node client = Node::open("self://").value();
    serve(server);
    serve(client);
    const Addr to = client.lookup(server.address()).value();
    EXPECT_EQ(client.call(twice, to, 4).wait().value(), 8);
    EXPECT_EQ(client.call(back, to, 4).wait().value(), 10);
    EXPECT_EQ(sum_at(client, to), 900'000u);
    EXPECT_EQ(client.call(slow_twice, to, 4, 20ms).wait().code(), Errc::timed_out);
    const auto [third, peer] = Node::connect(server.address()).value();
    EXPECT_EQ(third.call(twice, peer, 5).wait().value(), 10);
}

TEST(Self, a_name_is_found_again_after_a_restart) {
    std::optional<Node> server = Node::listen("self://store").value();
    const Node client = Node::open("self://").value();
    EXPECT_EQ(Node::listen("self://store").code(), Errc::address_in_use);
    serve(*server);
    const Addr to = client.lookup("self://store").value();
    EXPECT_EQ(client.call(twice, to, 4).wait().value(), 8);
    server.reset();
    EXPECT_FALSE(client.call(twice, to, 4, 5s).wait().ok());
    server.emplace(Node::listen("self://store").value());
    serve(*server);
    Result<int> reached = client.call(twice, to, 4).wait();
    if (!reached) reached = client.call(twice, to, 4).wait();  // the first call may still have reached the old node
    EXPECT_EQ(reached.value(), 8);
    EXPECT_EQ(sum_at(client, to), 900'000u);
}

TEST(Self, nobody_is_there) {
    const Node client = Node::open("self://").value();
    EXPECT_EQ(client.lookup("self://nobody").code(), Errc::unreachable);
    // A node's own `self` endpoint cannot be used by other nodes.
    const Node other = Node::listen("tcp://127.0.0.1:0").value();
    for (const std::string& endpoint : other.endpoints()) {
        if (!endpoint.starts_with("self://")) continue;
        EXPECT_EQ(client.lookup(endpoint).code(), Errc::unreachable);
    }
}

// Each test has its own simulated world.
class Simulated : public testing::Test {
  protected:
    static inline int worlds = 100;
    const int number_ = ++worlds;
    std::shared_ptr<sim::World> world_ = sim::World::numbered(static_cast<std::uint64_t>(number_));
    [[nodiscard]] std::string at(const std::string& host) const {
        return "sim://" + host + "?world=" + std::to_string(number_);
    }
    std::optional<Node> server_ = Node::listen(at("server")).value();
    Node client_ = Node::open(at("client")).value();
    Addr to_ = client_.lookup("sim://server").value();
    void SetUp() override { serve(*server_); }
};

TEST_F(Simulated, calls_end_by_themselves) {
    EXPECT_EQ(client_.call(twice, to_, 4).wait().value(), 8);
    EXPECT_EQ(client_.call(twice, to_, 5).future().get().value(), 10);
    const auto task = [this]() -> Task<int> { co_return (co_await client_.call(twice, to_, 6)).value(); };
    EXPECT_EQ(sync_wait(task()).value(), 12);
    serve(client_);
    EXPECT_EQ(client_.call(back, to_, 4).wait().value(), 10);
    EXPECT_EQ(sum_at(client_, to_), 900'000u);
}

TEST_F(Simulated, poll_delivers_on_either_side) {
    int got = 0;
    client_.call(twice, to_, 4).then([&](Result<int> result) { got = result.value(); });
    int rounds = 0;
    while (got == 0 && ++rounds < 100'000) client_.poll();
    EXPECT_EQ(got, 8);
    got = 0;
    client_.call(twice, to_, 5).then([&](Result<int> result) { got = result.value(); });
    for (rounds = 0; got == 0 && ++rounds < 100'000;) server_->poll();
    EXPECT_EQ(got, 10);
}

TEST_F(Simulated, time_is_the_clock_of_the_network) {
    const TimeUs before = world_->now_us();
    EXPECT_EQ(client_.call(slow_twice, to_, 4, no_deadline).wait().value(), 8);
    EXPECT_GE(world_->now_us() - before, 3'600'000'000u);
    EXPECT_EQ(client_.call(slow_twice, to_, 4, 5s).wait().code(), Errc::timed_out);
    auto pending = client_.call(slow_twice, to_, 4, no_deadline).future();
    EXPECT_FALSE(pending.wait_for(30min));
    EXPECT_TRUE(pending.wait_for(31min));
    const TimeUs now = world_->now_us();
    EXPECT_EQ(client_.run_for(10s), Errc::ok);
    EXPECT_GE(world_->now_us() - now, 10'000'000u);
    EXPECT_LE(world_->now_us() - now, 11'000'000u);
    EXPECT_EQ(server_->drain(1s), Errc::ok);
}

Task<Errc> nap(const Node& on, Microseconds span) { co_return co_await on.sleep_for(span); }

// with_deadline outside of a task, that is in sync_wait or in a coroutine of another library.
class SimulatedDeadlines : public Simulated {
  protected:
    template <typename A>
    [[nodiscard]] Errc ends_after_five_seconds(A awaitable) {
        const TimeUs before = world_->now_us();
        const Errc code = sync_wait(with_deadline(std::move(awaitable), 5s)).code();
        EXPECT_GE(world_->now_us() - before, 5'000'000u);
        EXPECT_LE(world_->now_us() - before, 6'000'000u);
        return code;
    }
};

TEST_F(SimulatedDeadlines, of_sleeps_and_calls_in_sync_wait) {
    EXPECT_EQ(ends_after_five_seconds(nap(client_, 1h)), Errc::timed_out);
    EXPECT_EQ(ends_after_five_seconds(client_.call(slow_twice, to_, 4, no_deadline)), Errc::timed_out);
    EXPECT_EQ(ends_after_five_seconds(client_.call(slow_twice, to_, 4)), Errc::timed_out);
    const hl::Caller caller(client_, {.retry = {.attempts = 1}});
    EXPECT_EQ(ends_after_five_seconds(caller.call(slow_twice, to_, 4, no_deadline)), Errc::timed_out);
    EXPECT_EQ(sync_wait(with_deadline(client_.call(twice, to_, 4), 5s)).value(), 8);
}

TEST_F(SimulatedDeadlines, of_a_task_cover_all_that_it_awaits) {
    const auto naps = [this](Microseconds longest) -> Task<Errc> {
        const Errc first = co_await with_deadline(nap(client_, 3s), longest);
        if (first != Errc::ok) co_return first;
        co_return co_await nap(client_, 3s);
    };
    EXPECT_EQ(ends_after_five_seconds(naps(1h)), Errc::timed_out);
    const TimeUs before = world_->now_us();
    EXPECT_EQ(sync_wait(with_deadline(naps(1s), 1h)).code(), Errc::timed_out);
    EXPECT_LE(world_->now_us() - before, 2'000'000u);
    const auto both = [this]() -> Task<Errc> {
        auto [slept, called] = co_await when_all(nap(client_, 1h), with_stop(nap(client_, 2h), std::stop_token()));
        co_return slept == Errc::timed_out ? called : Errc::protocol;
    };
    EXPECT_EQ(ends_after_five_seconds(both()), Errc::timed_out);
}

TEST_F(SimulatedDeadlines, of_a_task_that_began_on_a_real_node) {
    const Node real = Node::open("self://").value();
    const auto naps = [this, &real]() -> Task<Errc> {
        const Errc first = co_await nap(real, 1ms);
        if (first != Errc::ok) co_return first;
        co_return co_await nap(client_, 1h);
    };
    EXPECT_EQ(ends_after_five_seconds(naps()), Errc::timed_out);
    EXPECT_EQ(sync_wait(with_deadline(nap(real, 1h), 1ms)).code(), Errc::timed_out);
}

support::ForeignCoroutine nap_outside(const Node& on, Errc& ended) { ended = co_await with_deadline(nap(on, 1h), 5s); }

TEST_F(SimulatedDeadlines, in_a_coroutine_of_another_library) {
    Errc ended = Errc::ok;
    nap_outside(client_, ended);
    EXPECT_EQ(client_.run_for(4s), Errc::ok);
    EXPECT_EQ(ended, Errc::ok);
    EXPECT_EQ(client_.run_for(2s), Errc::ok);
    EXPECT_EQ(ended, Errc::timed_out);
}

TEST_F(Simulated, pool_handlers_run_on_the_loop) {
    constexpr Rpc<int(int)> thrice{"thrice"};
    const Pool pool = server_->make_pool({.threads = 2}).value();
    const auto here = std::this_thread::get_id();
    const auto handler = [here](int value) { return std::this_thread::get_id() == here ? 3 * value : -1; };
    ASSERT_TRUE(server_->serve(thrice, handler, on(pool)).ok());
    EXPECT_EQ(client_.call(thrice, to_, 3).wait().value(), 9);
    EXPECT_EQ(pool.queued(), 0u);
}

TEST_F(Simulated, a_server_dies_and_comes_back) {
    EXPECT_EQ(client_.call(twice, to_, 4).wait().value(), 8);
    auto pending = client_.call(slow_twice, to_, 4, no_deadline).future();
    EXPECT_FALSE(pending.wait_for(1s));
    world_->kill("server");
    server_.reset();
    EXPECT_EQ(pending.get().code(), Errc::peer_lost);
    EXPECT_FALSE(client_.call(twice, to_, 4, 5s).wait().ok());
    server_.emplace(Node::listen(at("server")).value());
    serve(*server_);
    EXPECT_EQ(client_.call(twice, to_, 4).wait().value(), 8);
}

// The network cannot take the memory away from a peer that neither answers nor releases it.
TEST(Quarantine, is_told_by_the_region_and_by_the_error) {
    auto world = sim::World::numbered(99, {.profile = sim::Profile::rdma_strict, .fence_failed_one_in = 1});
    std::optional<Node> server = Node::listen("sim://server?world=99").value();
    const Node client = Node::open("sim://client?world=99").value();
    const auto holder = [](RequestOf<hold> request) -> Task<Result<int>> {
        (void)co_await request.node().sleep_for(1h);
        co_return 0;
    };
    ASSERT_TRUE(server->serve(hold, holder).ok());
    const Addr to = client.lookup("sim://server").value();
    std::vector<std::uint32_t> values(300'000, 3);
    const auto region = client.expose(std::span<std::uint32_t>(values)).value();
    auto pending = client.call(hold, to, region, 1s).future();
    EXPECT_FALSE(pending.wait_for(100ms));
    world->stop("server");
    const Result<int> ended = pending.get();
    EXPECT_EQ(ended.code(), Errc::timed_out);
    EXPECT_NE(ended.error().hint.find("Region::quarantined()"), std::string::npos) << ended.error().hint;
    EXPECT_TRUE(region.quarantined());
    world->resume("server");
    world->kill("server");
    server.reset();
    EXPECT_EQ(client.run_for(10s), Errc::ok);
    EXPECT_FALSE(region.quarantined());
}

// An operation that a task starts while it is being stopped completes after the last task of the node has ended.
TEST_F(Simulated, a_node_is_destroyed_with_completions_that_nobody_has_run) {
    std::optional<Node> leaving = Node::open(at("leaving")).value();
    int told = 0;
    const auto say_goodbye = [&told](NodeRef node, Addr to) -> Task<void> {
        (void)co_await node.sleep_for(1h);
        for (int i = 0; i < 3; ++i) node.call(tell, to, i).then([&told](const Result<void>&) { ++told; });
    };
    ASSERT_EQ(leaving->spawn(say_goodbye(*leaving, to_)), Errc::ok);
    ASSERT_EQ(leaving->run_for(10us), Errc::ok);
    EXPECT_EQ(told, 0);
    leaving.reset();
    EXPECT_EQ(told, 3);
}

TEST_F(Simulated, the_same_seed_gives_the_same_events) {
    const auto run = [](int number) {
        auto world = sim::World::numbered(static_cast<std::uint64_t>(number), {.seed = 5, .reset_one_in = 10});
        const std::string query = "?world=" + std::to_string(number);
        const Node server = Node::listen("sim://server" + query).value();
        const Node client = Node::open("sim://client" + query).value();
        serve(server);
        const Addr to = client.lookup("sim://server").value();
        for (int i = 0; i < 50; ++i) (void)client.call(twice, to, i, 1s).wait();
        return std::pair(world->trace_hash(), world->now_us());
    };
    const auto first = run(++worlds);
    EXPECT_EQ(run(++worlds), first);
}

}  // namespace
}  // namespace cinnabar
