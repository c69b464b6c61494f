// SPDX-License-Identifier: BSD-3-Clause
// put_notify: the value arrives once, and never before the bytes.
#include "contract.hpp"

#include <algorithm>
#include <set>

namespace cinnabar::contract {

class Notify : public ContractTest {};
CINNABAR_CONTRACT(Notify);

TEST_P(Notify, TheValueFollowsItsBytes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("put_notify", caps().put_notify);
    na::Peer& peer = peer_of(a, b);
    const std::size_t bytes = large_rma();
    GuardedBuffer from(bytes, 31);
    GuardedBuffer to(bytes);
    auto local = register_memory(a, {from.segment()});
    Lent& remote = lend(b, {to.segment()});
    unsigned notified = 0;
    b.receiver.on_notified = [&](na::Peer&, std::uint32_t) {
        ++notified;
        EXPECT_TRUE(to.holds(31));
    };
    TestOp& op = make_rma(na::OpKind::put_notify, peer, *local, remote, bytes);
    op.op.notify = 0xdead'beef;
    post(a, op);
    ASSERT_TRUE(run_until([&] { return op.done() && notified > 0; }));
    EXPECT_EQ(op.result, Errc::ok);
    ASSERT_EQ(b.receiver.notified.size(), 1u);
    EXPECT_EQ(b.receiver.notified.front().value, 0xdead'beefu);
    EXPECT_EQ(b.receiver.notified.front().source->incarnation(), a.transport->incarnation());
}

TEST_P(Notify, ManyEachAfterItsOwnBytes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("put_notify", caps().put_notify);
    na::Peer& peer = peer_of(a, b);
    constexpr std::uint32_t count = 100;
    constexpr std::size_t each = 3000;
    GuardedBuffer from(count * each, 32);
    GuardedBuffer to(count * each);
    auto local = register_memory(a, {from.segment()});
    Lent& remote = lend(b, {to.segment()});
    b.receiver.on_notified = [&](na::Peer&, std::uint32_t value) {
        EXPECT_TRUE(to.holds(32, value * each, each, value * each)) << value;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
        TestOp& op = make_rma(na::OpKind::put_notify, peer, *local, remote, each, i * each, i * each);
        op.op.notify = i;
        post(a, op);
    }
    ASSERT_TRUE(run_until([&] {
        return b.receiver.notified.size() >= count &&
               std::all_of(ops_.begin(), ops_.end(), [](const TestOp& op) { return op.done(); });
    }));
    std::set<std::uint32_t> values;
    for (const auto& got : b.receiver.notified) values.insert(got.value);
    EXPECT_EQ(values.size(), count);
    EXPECT_EQ(b.receiver.notified.size(), count);
}

TEST_P(Notify, OfNoBytes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("put_notify", caps().put_notify);
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(8);
    GuardedBuffer there(8, 1);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    TestOp& op = make_rma(na::OpKind::put_notify, peer, *local, remote, 0);
    op.op.notify = 0;
    post(a, op);
    ASSERT_TRUE(run_until([&] { return op.done() && !b.receiver.notified.empty(); }));
    EXPECT_EQ(op.result, Errc::ok);
    EXPECT_TRUE(there.holds(1));
}

TEST_P(Notify, ARefusedPutDoesNotNotify) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("put_notify", caps().put_notify);
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()}, na::Access::read);
    TestOp& op = make_rma(na::OpKind::put_notify, peer, *local, remote, 64);
    post(a, op);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_NE(op.result, Errc::ok);
    // Anything that the refused put has sent arrives before this message.
    TestOp& marker = send(a, peer, 1, 1);
    ASSERT_TRUE(run_until([&] { return marker.done() && !b.receiver.messages.empty(); }));
    EXPECT_TRUE(b.receiver.notified.empty());
    EXPECT_TRUE(there.holds(2));
}

}  // namespace cinnabar::contract
