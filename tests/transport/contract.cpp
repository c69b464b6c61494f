// SPDX-License-Identifier: BSD-3-Clause
#include "contract.hpp"

#include <algorithm>

namespace cinnabar::contract {

Node& ContractTest::make_node(const std::string& name, na::TransportOptions options, na::ContextOptions context) {
    auto node = std::make_unique<Node>();
    node->name = name;
    if (network_.one_process() && shared_) {
        node->transport = shared_;
        for (const auto& other : nodes_) {
            if (other->context && other->context->options().id >= context.id) {
                context.id = static_cast<na::ContextId>(other->context->options().id + 1);
            }
        }
    } else {
        auto opened = network_.open(name, options);
        if (!opened) throw BadResult(opened.error());
        node->transport = *std::move(opened);
        if (network_.one_process()) shared_ = node->transport;
    }
    na::Transport* transport = node->transport.get();
    node->context = na::Context::open({&transport, 1}, context, node->receiver).value();
    pump_.add(*node->context);
    nodes_.push_back(std::move(node));
    return *nodes_.back();
}

Node& ContractTest::make_sibling(Node& node, na::ContextId id, na::ContextOptions context) {
    auto sibling = std::make_unique<Node>();
    sibling->name = node.name;
    sibling->transport = node.transport;
    context.id = id;
    na::Transport* transport = sibling->transport.get();
    sibling->context = na::Context::open({&transport, 1}, context, sibling->receiver).value();
    pump_.add(*sibling->context);
    nodes_.push_back(std::move(sibling));
    return *nodes_.back();
}

void ContractTest::close(Node& node) {
    if (!node.context) return;
    for (Lent& lent : lent_) {
        if (lent.owner != &node) continue;
        revoke(lent);
        lent.memory.reset();
    }
    pump_.remove(*node.context);
    for (auto& [owner, peer] : held_peers_) {
        if (owner == &node) peer->release();
    }
    std::erase_if(held_peers_, [&node](const auto& held) { return held.first == &node; });
    node.context.reset();
    const bool last = std::none_of(nodes_.begin(), nodes_.end(), [&node](const auto& other) {
        return other->context && other->transport == node.transport;
    });
    if (last && !network_.one_process()) node.transport.reset();
}

void ContractTest::kill(Node& node) {
    if (network_.is_sim()) network_.world().kill(node.name);
    close(node);
}

void ContractTest::SetUp() {
    if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
    const std::string suite = testing::UnitTest::GetInstance()->current_test_suite()->name();
    const bool closes_early =
        suite.ends_with("PeerLoss") || suite.ends_with("Reconnect") || suite.ends_with("Teardown");
    if (closes_early && network_.kind() == NetworkKind::ofi_shm) {
        GTEST_SKIP() << "libfabric's shm crashes when an endpoint closes before another of its process";
    }
}

void ContractTest::TearDown() {
    const auto all_ended = [this] {
        return std::all_of(nodes_.begin(), nodes_.end(),
                           [](const auto& node) { return !node->context || node->context->ops_posted() == 0; });
    };
    EXPECT_TRUE(run_until(all_ended)) << "ops are still posted";
    for (Lent& lent : lent_) {
        if (lent.lease.granted()) revoke(lent);
    }
    for (const TestOp& op : ops_) EXPECT_LE(op.completions, 1u);
    for (const auto& node : nodes_) close(*node);
    for (Lent& lent : lent_) lent.memory.reset();
    nodes_.clear();
    shared_.reset();
}

na::Peer& ContractTest::peer_at(Node& from, const na::Addr& addr) {
    na::Peer& peer = *from.context->peer(addr).value();
    peer.acquire();
    held_peers_.emplace_back(&from, &peer);
    return peer;
}

na::Peer& ContractTest::peer_of(Node& from, Node& to, bool with_incarnation) {
    return peer_at(from, to.addr(with_incarnation));
}

TestOp& ContractTest::make_message(na::Peer& peer, na::Tag tag, std::size_t bytes, na::OpKind kind) {
    TestOp& op = ops_.emplace_back();
    op.op.kind = kind;
    op.op.peer = &peer;
    op.op.tag = tag;
    op.op.message = peer.port().take_message();
    EXPECT_NE(op.op.message, nullptr);
    op.op.message_bytes = static_cast<std::uint32_t>(bytes);
    support::fill_pattern(op.op.message->bytes().first(bytes), tag);
    return op;
}

void ContractTest::post(Node& from, TestOp& op) {
    Errc taken = Errc::again;
    const bool ended = pump_.until([&] { return (taken = from.context->post_owned(op.op)) != Errc::again; });
    EXPECT_TRUE(ended) << "the post answers `again` for ever";
    EXPECT_EQ(taken, Errc::ok) << to_string(taken);
}

TestOp& ContractTest::send(Node& from, na::Peer& peer, na::Tag tag, std::size_t bytes, na::OpKind kind) {
    TestOp& op = make_message(peer, tag, bytes, kind);
    post(from, op);
    return op;
}

TestOp& ContractTest::make_rma(na::OpKind kind, na::Peer& peer, na::Memory& local, const Lent& remote,
                               std::uint64_t bytes, std::uint64_t local_offset, std::uint64_t remote_offset) {
    TestOp& op = ops_.emplace_back();
    op.op.kind = kind;
    op.op.peer = &peer;
    op.op.local = &local;
    op.op.local_offset = local_offset;
    op.op.remote = remote.remote();
    op.op.remote_offset = remote_offset;
    op.op.bytes = bytes;
    return op;
}

std::unique_ptr<na::Memory> ContractTest::register_memory(Node& node, std::vector<na::Segment> segments,
                                                          na::Access access) {
    return node.transport->register_memory(segments, access).value();
}

Lent& ContractTest::lend(Node& owner, std::vector<na::Segment> segments, na::Access access, na::LentTo lent_to) {
    std::uint64_t bytes = 0;
    for (const na::Segment& segment : segments) bytes += segment.bytes;
    return lend_part(owner, std::move(segments), access, 0, bytes, lent_to);
}

Lent& ContractTest::lend_part(Node& owner, std::vector<na::Segment> segments, na::Access access, std::uint64_t offset,
                              std::uint64_t bytes, na::LentTo lent_to) {
    Lent& lent = lent_.emplace_back();
    lent.owner = &owner;
    lent.memory = register_memory(owner, std::move(segments), access);
    lent.lease.memory = lent.memory.get();
    lent.lease.offset = offset;
    lent.lease.bytes = bytes;
    lent.lease.access = access;
    lent.lease.lent_to = lent_to;
    EXPECT_EQ(owner.transport->grant(lent.lease), Errc::ok);
    lent.key.resize(owner.transport->described_bytes(lent.lease));
    ByteWriter writer(lent.key);
    owner.transport->describe(lent.lease, writer);
    EXPECT_TRUE(writer.ok());
    EXPECT_EQ(writer.size(), lent.key.size());
    return lent;
}

void ContractTest::confine_and_tell(Node& owner, Lent& lent, na::Peer& to) {
    owner.transport->confine(lent.lease, to);
    const TestOp& told = send(owner, to, 0xfeed0001, 8);
    EXPECT_TRUE(run_until_done(told));
    EXPECT_EQ(told.result, Errc::ok);
}

void ContractTest::revoke(Lent& lent) {
    if (!lent.lease.granted()) return;
    lent.lease.fenced.user = &lent;
    lent.lease.fenced.run = [](WorkItem& work) noexcept {
        Lent& fenced = *static_cast<Lent*>(work.user);
        fenced.lease.key = 0;
        fenced.fence_over = true;
    };
    lent.fence_over = false;
    const Errc taken_back = lent.owner->transport->revoke(lent.lease);
    if (taken_back == Errc::again) {
        EXPECT_TRUE(run_until([&lent] { return lent.fence_over; })) << "the fence never ends";
    } else {
        EXPECT_EQ(taken_back, Errc::ok);
    }
    EXPECT_FALSE(lent.lease.granted());
}

testing::AssertionResult ContractTest::run_until(const std::function<bool()>& done) {
    if (pump_.until(done)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "nothing more happens";
}

void ContractTest::connect(Node& from, Node& to, na::Peer*& there, na::Peer*& back) {
    constexpr na::Tag hello = 0xfeed0000;
    there = &peer_of(from, to);
    const std::size_t before = to.receiver.count_tag(hello);
    TestOp& op = send(from, *there, hello, 8);
    ASSERT_TRUE(run_until([&] { return op.done() && to.receiver.count_tag(hello) == before + 1; }));
    back = to.receiver.messages.back().source;
    back->acquire();
    held_peers_.emplace_back(&to, back);
    to.receiver.messages.pop_back();
}

}  // namespace cinnabar::contract
