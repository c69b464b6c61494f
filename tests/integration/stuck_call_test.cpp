// SPDX-License-Identifier: BSD-3-Clause
// A node that is asked for its calls in progress shows those that are stuck for want of a reply slot, of room, or of a
// transfer. introspection_test.cpp has the other phases.
#include "integration/gate.hpp"
#include "support/fault_transport.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/node_reports.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/plugin.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/tcp.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using rpc::CallPhase;
namespace look = hl::introspection;

constexpr Rpc<int(int)> held{"stuck.held"};
constexpr Rpc<std::size_t(std::string_view)> takes{"stuck.takes"};
constexpr Rpc<std::string(int)> gives{"stuck.gives"};
constexpr std::size_t large_bytes = 1'000'000;

// What the last call of open_faulty() has made: a plugin is a function, and has no other way to tell.
struct Wrapped {
    std::unique_ptr<na::Transport> inner;
    support::FaultTransport* faulty = nullptr;
};
Wrapped& last_wrapped() {
    static Wrapped last;
    return last;
}

Result<std::unique_ptr<na::Transport>> open_faulty(const na::Uri& uri, const na::TransportOptions& options) {
    na::Uri of_tcp = uri;
    of_tcp.scheme = "tcp";
    CINNABAR_TRY(std::unique_ptr<na::Transport> inner, tcp::plugin_info.open(of_tcp, options));
    auto faulty = std::make_unique<support::FaultTransport>(*inner);
    last_wrapped() = {std::move(inner), faulty.get()};
    return std::unique_ptr<na::Transport>(std::move(faulty));
}

const na::PluginInfo faulty_info{na::plugin_abi, "faulty", "tcp with faults, for tests", &open_faulty};

NodeOptions asked_by_anyone() {
    NodeOptions options;
    options.introspection = hl::Introspection::anyone;
    return options;
}

Node listen_on_faulty() {
    NodeOptions options = asked_by_anyone();
    options.plugins = [](na::Registry& registry) { return registry.add(faulty_info); };
    return Node::listen("faulty://127.0.0.1:0", options).value();
}

// A node over tcp with faults. Its calls to itself take another transport, which has none.
class FaultyNode {
  public:
    FaultyNode() : node_(listen_on_faulty()), wrapped_(std::move(last_wrapped())) {}
    FaultyNode(const FaultyNode&) = delete;
    FaultyNode& operator=(const FaultyNode&) = delete;
    // The inner transport outlives the node.
    ~FaultyNode() {
        mend();
        node_.reset();
    }
    [[nodiscard]] const Node& node() const { return *node_; }

    // From now on nothing can be posted.
    void refuse_posts() {
        change([](support::Faults& faults) { faults.again_one_in = 1; });
    }
    // From now on what is posted does not complete.
    void hold_completions() {
        change([](support::Faults& faults) { faults.late_polls = std::numeric_limits<unsigned>::max(); });
    }
    void mend() {
        change([](support::Faults& faults) { faults = {}; });
    }

  private:
    template <typename F>
    void change(F how) {
        const na::Context::Ownership ownership(node_->rpc_context().na());
        how(wrapped_.faulty->faults());
    }
    std::optional<Node> node_;
    Wrapped wrapped_;
};

// The first call of that RPC that the node at `of` reports, as origin or as target.
std::optional<look::CallReport> find_call(const Node& by, const Addr& of, std::string_view rpc, bool as_target) {
    look::Ask ask;
    do {
        const auto page = by.call(look::calls, of, ask).wait().value();
        for (const look::CallReport& call : page.items) {
            if (call.rpc == rpc && call.as_target == as_target) return call;
        }
        ask.from = page.next;
    } while (ask.from != 0);
    return {};
}

// Asks until the call is in that phase.
testing::AssertionResult shows(const Node& by, const Addr& of, std::string_view rpc, bool as_target, CallPhase phase) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    std::optional<look::CallReport> found;
    while (std::chrono::steady_clock::now() < end) {
        found = find_call(by, of, rpc, as_target);
        if (found && found->phase == static_cast<std::uint8_t>(phase)) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << rpc << " is never in the phase \"" << to_string(phase) << "\"; at last it "
                                       << (found ? to_string(static_cast<CallPhase>(found->phase)) : "was not there");
}
testing::AssertionResult shows(const Node& node, std::string_view rpc, bool as_target, CallPhase phase) {
    return shows(node, node.self_addr(), rpc, as_target, phase);
}

class StuckCall : public testing::Test {
  protected:
    ~StuckCall() override { gate_.open(); }
    void serve_held(const Node& node, const Pool& pool) {
        ASSERT_TRUE(node.serve(
                            held, [this](int value) { return gate_.pass(), value; }, on(pool))
                        .ok());
    }
    test::Gate gate_;
};

// Another node asks: the answer to a call of the node itself would need a slot, too.
TEST_F(StuckCall, WaitingForASlotForItsReply) {
    NodeOptions generous;
    generous.rpc.context.initial_credits = 64;
    const auto server = Node::listen("tcp://127.0.0.1:0", generous).value();
    const auto pool = server.make_pool({.threads = 1}).value();
    serve_held(server, pool);
    NodeOptions few = asked_by_anyone();
    few.transport.receive_slots = 16;
    const auto client = Node::listen("tcp://127.0.0.1:0", few).value();
    const auto [asks, at_client] = Node::connect(client.address()).value();
    const Addr peer = client.lookup(server.address()).value();
    std::vector<Future<int>> calls;
    for (int i = 0; i < 200; ++i) calls.push_back(client.call(held, peer, i).future());
    gate_.await(1);
    EXPECT_TRUE(shows(asks, at_client, "stuck.held", false, CallPhase::waits_for_reply_slot));
    gate_.open();
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

class StuckAtItsOrigin : public StuckCall {
  protected:
    StuckAtItsOrigin() {
        serve_held(server_, pool_);
        EXPECT_TRUE(server_.serve(gives, [](int) { return std::string(large_bytes, 'x'); }).ok());
        EXPECT_EQ(client_.node().call(gives, peer_, 0).wait().value().size(), large_bytes);  // connects
    }
    const Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    const Pool pool_ = server_.make_pool({.threads = 1}).value();
    FaultyNode client_;
    const Addr peer_ = client_.node().lookup(server_.address()).value();
};

TEST_F(StuckAtItsOrigin, WaitingForRoom) {
    client_.refuse_posts();
    Future<int> call = client_.node().call(held, peer_, 1).future();
    EXPECT_TRUE(shows(client_.node(), "stuck.held", false, CallPhase::waits_for_room));
    client_.mend();
    gate_.open();
    EXPECT_EQ(call.get().value(), 1);
}

TEST_F(StuckAtItsOrigin, Sending) {
    client_.hold_completions();
    Future<int> call = client_.node().call(held, peer_, 1).future();
    EXPECT_TRUE(shows(client_.node(), "stuck.held", false, CallPhase::sending));
    client_.mend();
    gate_.open();
    EXPECT_EQ(call.get().value(), 1);
}

TEST_F(StuckAtItsOrigin, FetchingItsResult) {
    client_.hold_completions();
    Future<std::string> call = client_.node().call(gives, peer_, 1).future();
    EXPECT_TRUE(shows(client_.node(), "stuck.gives", false, CallPhase::fetching));
    client_.mend();
    EXPECT_EQ(call.get().value().size(), large_bytes);
}

class StuckAtItsTarget : public StuckCall {
  protected:
    StuckAtItsTarget() {
        serve_held(server_.node(), pool_);
        EXPECT_TRUE(server_.node().serve(takes, [](std::string_view text) { return text.size(); }).ok());
        EXPECT_EQ(client_.node.call(takes, client_.peer, "").wait().value(), 0u);  // connects
    }
    FaultyNode server_;
    const Pool pool_ = server_.node().make_pool({.threads = 1}).value();
    const Connected client_ = Node::connect(server_.node().address()).value();
};

TEST_F(StuckAtItsTarget, FetchingItsArguments) {
    const std::string text(large_bytes, 'x');
    server_.hold_completions();
    Future<std::size_t> call = client_.node.call(takes, client_.peer, text).future();
    EXPECT_TRUE(shows(server_.node(), "stuck.takes", true, CallPhase::fetching));
    server_.mend();
    EXPECT_EQ(call.get().value(), large_bytes);
}

TEST_F(StuckAtItsTarget, Answered) {
    Future<int> call = client_.node.call(held, client_.peer, 1).future();
    gate_.await(1);
    server_.refuse_posts();
    gate_.open();
    EXPECT_TRUE(shows(server_.node(), "stuck.held", true, CallPhase::answered));
    server_.mend();
    EXPECT_EQ(call.get().value(), 1);
}

}  // namespace
}  // namespace cinnabar
