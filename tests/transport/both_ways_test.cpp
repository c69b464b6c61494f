// SPDX-License-Identifier: BSD-3-Clause
// Two peers have large transfers in both directions at the same time: each must serve the other while it waits.
#include "contract.hpp"

#include <algorithm>
#include <array>

namespace cinnabar::contract {

class BothWays : public ContractTest {
  protected:
    static constexpr std::size_t ops_each = 6;

    // All ops are posted before either side has seen an op of the other.
    void move(na::OpKind kind) {
        Node& a = make_node("a");
        Node& b = make_node("b");
        na::Peer* there = nullptr;
        na::Peer* back = nullptr;
        connect(a, b, there, back);
        const std::size_t bytes = large_rma();
        struct Side {
            Node& node;
            na::Peer& peer;
            GuardedBuffer own;  // read or written by the other side
            std::vector<GuardedBuffer> here;
            std::unique_ptr<na::Memory> local;
            Lent* lent;
            std::vector<TestOp*> ops;
        };
        const bool get = kind == na::OpKind::get;
        const auto side = [&](Node& node, na::Peer& peer, std::uint64_t seed) {
            Side made{node, peer, GuardedBuffer(get ? bytes : bytes * ops_each, seed), {}, nullptr, nullptr, {}};
            std::vector<na::Segment> segments;
            made.here.reserve(ops_each);
            for (std::size_t i = 0; i < ops_each; ++i) {
                segments.push_back(made.here.emplace_back(bytes, seed + 10 + i).segment());
            }
            made.local = register_memory(node, segments);
            made.lent = &lend(node, {made.own.segment()});
            return made;
        };
        std::array<Side, 2> sides{side(a, *there, 1), side(b, *back, 2)};
        for (std::size_t i = 0; i < ops_each; ++i) {
            for (std::size_t s = 0; s < 2; ++s) {
                Side& from = sides[s];
                const Lent& remote = *sides[1 - s].lent;
                from.ops.push_back(
                    &make_rma(kind, from.peer, *from.local, remote, bytes, i * bytes, get ? 0 : i * bytes));
                post(from.node, *from.ops.back());
            }
        }
        for (const Side& each : sides) {
            ASSERT_TRUE(run_until(
                [&] { return std::all_of(each.ops.begin(), each.ops.end(), [](auto* op) { return op->done(); }); }));
            for (const TestOp* op : each.ops) EXPECT_EQ(op->result, Errc::ok) << to_string(op->result);
        }
        for (std::size_t s = 0; s < 2; ++s) {
            for (std::size_t i = 0; i < ops_each; ++i) {
                if (get) {
                    EXPECT_TRUE(sides[s].here[i].holds(2 - s)) << i;
                } else {
                    EXPECT_TRUE(sides[s].own.holds(2 - s + 10 + i, i * bytes, bytes, 0)) << i;
                }
            }
        }
        for (const Side& each : sides) revoke(*each.lent);
    }
};
CINNABAR_CONTRACT(BothWays);

TEST_P(BothWays, LargeGetsDoNotWaitForEachOther) { move(na::OpKind::get); }

TEST_P(BothWays, LargePutsDoNotWaitForEachOther) { move(na::OpKind::put); }

// A peer can still send messages while its memory is read constantly.
TEST_P(BothWays, AMessageIsNotBlockedByConstantReads) {
    constexpr std::size_t at_once = 8;
    constexpr std::size_t gets_max = 64;  // until the message has come
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    const std::size_t bytes = large_rma();
    GuardedBuffer from(bytes, 1);
    GuardedBuffer to(bytes * at_once);
    auto local = register_memory(a, {to.segment()});
    Lent& lent = lend(b, {from.segment()}, na::Access::read);
    std::size_t done = 0;
    bool enough = false;
    const auto get = [&](const auto& self, std::uint64_t at) -> void {
        TestOp& op = make_rma(na::OpKind::get, *there, *local, lent, bytes, at);
        op.then = [&, at](TestOp& ended) {
            EXPECT_EQ(ended.result, Errc::ok) << to_string(ended.result);
            ++done;
            if (!enough && ended.result == Errc::ok) self(self, at);
        };
        EXPECT_EQ(post_now(a, op), Errc::ok);
    };
    for (std::size_t i = 0; i < at_once; ++i) get(get, i * bytes);
    ASSERT_TRUE(run_until([&] { return done >= 2 * at_once; }));
    const std::size_t heard = a.receiver.messages.size();
    const std::size_t before = done;
    TestOp& message = send(b, *back, 7, 1000);
    ASSERT_TRUE(run_until([&] { return a.receiver.messages.size() > heard || done > before + gets_max; }));
    EXPECT_EQ(a.receiver.count_tag(7), 1u) << "after " << done - before << " gets";
    enough = true;
    ASSERT_TRUE(run_until([&] { return message.done() && a.context->ops_posted() == 0; }));
    revoke(lent);
}

}  // namespace cinnabar::contract
