// SPDX-License-Identifier: BSD-3-Clause
// Calls to host names while the name server is slow or never answers: nothing else waits for it.
#include "patience.hpp"
#include "support/missing_here.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/na/session/resolver.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> twice{"twice"};

// Replaces the name server. Names that begin with "slow" are answered once the gate is open, those with "bad" do not
// exist, and all others mean this host.
struct Names {
    std::mutex mutex;
    std::shared_ptr<test::Gate> gate;
    std::atomic<unsigned> asked{0};
    static Names& all() {
        static Names names;
        return names;
    }
    static Result<std::vector<na::SocketAddress>> look_up(const std::string& name) {
        ++all().asked;
        std::shared_ptr<test::Gate> gate;
        {
            const std::lock_guard lock(all().mutex);
            gate = all().gate;
        }
        if (name.starts_with("slow")) (void)gate->wait();
        if (name.starts_with("bad")) return Error(Errc::bad_address, "nobody", name);
        return na::resolve_at_once(na::Uri::parse("tcp://127.0.0.1").value(), na::Purpose::listen).value();
    }
};

class Resolving : public testing::TestWithParam<std::string> {
  protected:
    Resolving() {
        Names::all().gate = gate_;
        Names::all().asked = 0;
        na::set_host_lookup(&Names::look_up);
    }
    void SetUp() override {
        auto listening = Node::listen(GetParam());
        const std::string missing = GetParam().starts_with("ofi") ? support::missing_here(listening) : "";
        if (!missing.empty()) GTEST_SKIP() << missing;
        server_.emplace(std::move(listening).value());
        EXPECT_TRUE(server_->serve(twice, [](int value) { return 2 * value; }).ok());
    }
    ~Resolving() override {
        gate_->open();
        na::set_host_lookup(nullptr);
    }
    // Each test has names of its own, since the answer to a lookup of an earlier test may arrive and be cached during
    // this test.
    Addr named(std::string host) {
        if (host != "localhost") host += "." + std::to_string(number_);
        const std::string endpoint = server_->endpoints().front();
        const std::string scheme = endpoint.substr(0, endpoint.find("//") + 2);
        return client_->lookup(scheme + host + endpoint.substr(endpoint.rfind(':'))).value();
    }
    void open(Node::Options options = {.progress_thread = true}) {
        client_.emplace(Node::open(GetParam().substr(0, GetParam().rfind(':')), std::move(options)).value());
    }

    static inline unsigned tests_ = 0;
    const unsigned number_ = ++tests_;
    std::shared_ptr<test::Gate> gate_ = std::make_shared<test::Gate>();
    std::optional<Node> server_;
    std::optional<Node> client_;
};

TEST_P(Resolving, other_calls_continue_and_the_call_is_sent_when_the_answer_arrives) {
    open();
    Future<int> waits = client_->call(twice, named("slow.test"), 21, {.deadline = 60s}).future();
    while (Names::all().asked == 0) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(client_->call(twice, server_->self_addr(), i, 20s).wait().value(), 2 * i);
    EXPECT_EQ(client_->call(twice, named("fast.test"), 4, 20s).wait().value(), 8) << "another name waits for none";
    EXPECT_FALSE(waits.ready());
    gate_->open();
    EXPECT_EQ(waits.get().value(), 42);
}

TEST_P(Resolving, a_call_ends_by_its_deadline_by_a_cancel_and_by_the_connect_timeout) {
    Node::Options options{.progress_thread = true};
    options.transport.connect_timeout = 700ms;
    open(options);
    EXPECT_EQ(client_->call(twice, named("slow.one"), 1, 30ms).wait().code(), Errc::timed_out);
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    Future<int> canceled = client_->call(twice, named("slow.two"), 1, {.deadline = 60s, .stop = &token}).future();
    stop.request_stop();
    EXPECT_EQ(canceled.get().code(), Errc::canceled);
    EXPECT_EQ(client_->call(twice, named("slow.three"), 1, 60s).wait().code(), Errc::unreachable);
    gate_->open();
    EXPECT_EQ(client_->call(twice, named("slow.three"), 3, 20s).wait().value(), 6) << "asked again by the next dial";
}

TEST_P(Resolving, a_node_is_destroyed_without_waiting_for_the_name_server) {
    for (const bool threaded : {true, false}) {
        open({.progress_thread = threaded});
        Future<int> lost = client_->call(twice, named(threaded ? "slow.one" : "slow.two"), 1).future();
        while (Names::all().asked < (threaded ? 1u : 2u)) client_->poll();
        client_.reset();
        EXPECT_EQ(lost.get().code(), Errc::canceled);
    }
    gate_->open();
    open();
    EXPECT_EQ(client_->call(twice, named("slow.one"), 2, 20s).wait().value(), 4);
}

TEST_P(Resolving, unknown_names_are_bad_addresses_and_answers_are_cached) {
    open();
    EXPECT_EQ(client_->call(twice, named("bad.test"), 1, 20s).wait().code(), Errc::bad_address);
    for (int i = 0; i < 3; ++i) {
        open();  // a new node must dial again
        EXPECT_EQ(client_->call(twice, named("good.test"), i, 20s).wait().value(), 2 * i);
    }
    EXPECT_EQ(Names::all().asked, 2u);
    EXPECT_EQ(client_->call(twice, named("localhost"), 1, 20s).wait().value(), 2);
    EXPECT_EQ(Names::all().asked, 2u) << "the loopback is nobody's to tell";
}

TEST_P(Resolving, more_names_than_may_wait_are_refused) {
    Node::Options options{.progress_thread = true};
    options.transport.connect_timeout = 60s;
    open(options);
    std::vector<Future<int>> calls;
    for (int i = 0; i < 300; ++i) {
        calls.push_back(client_->call(twice, named("slow." + std::to_string(i)), i, {.deadline = 60s}).future());
        if (i < 4) {  // one for each thread of the resolver
            while (Names::all().asked <= static_cast<unsigned>(i)) std::this_thread::yield();
        }
    }
    std::size_t ended = 0;
    while (ended < 40) {
        ended = 0;
        for (const Future<int>& call : calls) ended += call.ready() ? 1 : 0;
        std::this_thread::yield();
    }
    EXPECT_EQ(Names::all().asked, 4u);
    client_.reset();
    std::size_t overloaded = 0;
    for (Future<int>& call : calls) overloaded += call.get().code() == Errc::overloaded ? 1 : 0;
    EXPECT_EQ(overloaded, 40u) << "four were asked for and 256 waited";
}

INSTANTIATE_TEST_SUITE_P(Over, Resolving, testing::Values("tcp://127.0.0.1:0", "ofi+tcp;ofi_rxm://127.0.0.1:0"),
                         [](const auto& tested) { return tested.param.substr(0, 3); });

}  // namespace
}  // namespace cinnabar
