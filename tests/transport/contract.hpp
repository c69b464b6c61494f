// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the contract tests: two or more nodes on one network, driven by a pump, and ops that record how they
// end. At the end of a test every op has ended, every lease is revoked, and the log has no unexpected line.
#pragma once

#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/patterns.hpp"
#include "support/pump.hpp"

#include <cinnabar/na/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::contract {

using support::GuardedBuffer;
using support::NetworkKind;
using support::Node;

// An op that counts its completions. Lives as long as the test that made it.
struct TestOp {
    na::Op op;
    unsigned completions = 0;
    Errc result = Errc::ok;
    std::function<void(TestOp&)> then;  // runs inside the completion

    TestOp() {
        op.user = this;
        op.complete = [](na::Op& self) noexcept {
            auto& test = *static_cast<TestOp*>(self.user);
            ++test.completions;
            test.result = self.result;
            if (test.op.message && test.gives_back) {
                test.op.message->port->give_message(*test.op.message);
                test.op.message = nullptr;
            }
            if (test.then) test.then(test);
        };
    }
    [[nodiscard]] bool done() const noexcept { return completions > 0; }
    bool gives_back = true;  // the message is given back at the completion
};

// Registered memory with a lease on it.
struct Lent {
    bool fence_over = true;  // false until lease.fenced has run
    Node* owner = nullptr;
    std::unique_ptr<na::Memory> memory;
    na::Lease lease;
    std::vector<std::byte> key;
    bool fenced = false;

    [[nodiscard]] na::RemoteMemory remote() const { return {key, lease.bytes}; }
};

class ContractTest : public testing::TestWithParam<NetworkKind> {
  protected:
    ContractTest() : network_(GetParam()), pump_(network_.world_or_null()) {}
    void SetUp() override;
    void TearDown() override;

    Node& make_node(const std::string& name, na::TransportOptions options = listening(),
                    na::ContextOptions context = one_thread());
    // Another context of the same process.
    Node& make_sibling(Node& node, na::ContextId id, na::ContextOptions context = one_thread());
    void close(Node& node);
    // Breaks the connections of the node, as if its process had died.
    void kill(Node& node);

    [[nodiscard]] static na::TransportOptions listening() {
        na::TransportOptions options;
        options.listen = true;
        return options;
    }
    [[nodiscard]] static na::ContextOptions one_thread() {
        na::ContextOptions options;
        options.threads = ThreadUse::one;
        return options;
    }

    // The references to these peers are held until the end of the test.
    [[nodiscard]] na::Peer& peer_of(Node& from, Node& to, bool with_incarnation = false);
    [[nodiscard]] na::Peer& peer_at(Node& from, const na::Addr& addr);
    // Makes, but does not post, a message of `bytes` bytes of pattern `tag`.
    TestOp& make_message(na::Peer& peer, na::Tag tag, std::size_t bytes, na::OpKind kind = na::OpKind::send_unexpected);
    // Makes and posts a message. `again` is retried while the pump runs.
    TestOp& send(Node& from, na::Peer& peer, na::Tag tag, std::size_t bytes,
                 na::OpKind kind = na::OpKind::send_unexpected);
    TestOp& make_rma(na::OpKind kind, na::Peer& peer, na::Memory& local, const Lent& remote, std::uint64_t bytes,
                     std::uint64_t local_offset = 0, std::uint64_t remote_offset = 0);
    void post(Node& from, TestOp& op);
    [[nodiscard]] Errc post_now(Node& from, TestOp& op) { return from.context->post_owned(op.op); }

    [[nodiscard]] std::unique_ptr<na::Memory> register_memory(Node& node, std::vector<na::Segment> segments,
                                                              na::Access access = na::Access::read_write);
    // The lease covers all of the memory.
    Lent& lend(Node& owner, std::vector<na::Segment> segments, na::Access access = na::Access::read_write,
               na::LentTo lent_to = na::LentTo::anyone);
    Lent& lend_part(Node& owner, std::vector<na::Segment> segments, na::Access access, std::uint64_t offset,
                    std::uint64_t bytes, na::LentTo lent_to = na::LentTo::anyone);
    // Confines the lease to the peer, and sends it a message, as that with the key would be.
    void confine_and_tell(Node& owner, Lent& lent, na::Peer& to);
    // Revokes the lease and waits for the fence.
    void revoke(Lent& lent);

    [[nodiscard]] testing::AssertionResult run_until(const std::function<bool()>& done);
    [[nodiscard]] testing::AssertionResult run_until_done(const TestOp& op) {
        return run_until([&op] { return op.done(); });
    }
    // Connects both nodes: when it returns, one message has arrived in each direction.
    void connect(Node& from, Node& to, na::Peer*& there, na::Peer*& back);
    // The size of a large put or get on this network.
    [[nodiscard]] std::size_t large_rma() {
        return std::min<std::size_t>(nodes_.front()->transport->limits().rma_bytes_max, 1024 * 1024);
    }
    [[nodiscard]] const na::Caps& caps() { return nodes_.front()->transport->caps(); }

    support::LogWatch log_;
    support::Network network_;
    support::Pump pump_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::deque<TestOp> ops_;
    std::deque<Lent> lent_;
    std::vector<std::pair<Node*, na::Peer*>> held_peers_;
    std::shared_ptr<na::Transport> shared_;  // of `self`
};

#define CINNABAR_CONTRACT(suite)                                                                     \
    INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(::cinnabar::support::contract_networks()), \
                             [](const auto& i) { return std::string(::cinnabar::support::to_string(i.param)); })

// Skips the test if the transport does not have a capability.
#define CINNABAR_NEEDS(what, ...)                                                       \
    do {                                                                                \
        if (!(__VA_ARGS__)) GTEST_SKIP() << "this transport does not have: " << (what); \
    } while (false)

}  // namespace cinnabar::contract
