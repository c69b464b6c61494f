// SPDX-License-Identifier: BSD-3-Clause
// fetch_add and compare_swap on eight aligned bytes of the peer.
#include "contract.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace cinnabar::contract {

class Atomics : public ContractTest {
  protected:
    Lent& lend_words(Node& owner, na::Access access = na::Access::read_write) {
        return lend(owner, {{reinterpret_cast<std::byte*>(words_.data()), sizeof words_}}, access);
    }
    TestOp& make_atomic(na::OpKind kind, na::Peer& peer, const Lent& remote, std::uint64_t offset,
                        std::uint64_t operand, std::uint64_t compare = 0) {
        TestOp& op = ops_.emplace_back();
        op.op.kind = kind;
        op.op.peer = &peer;
        op.op.remote = remote.remote();
        op.op.remote_offset = offset;
        op.op.operand = operand;
        op.op.compare = compare;
        return op;
    }
    alignas(8) std::array<std::uint64_t, 4> words_{1, 20, 300, 4000};
};
CINNABAR_CONTRACT(Atomics);

TEST_P(Atomics, FetchAddReturnsTheOldValue) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("atomics", caps().atomics);
    Lent& remote = lend_words(b);
    TestOp& op = make_atomic(na::OpKind::fetch_add, peer_of(a, b), remote, 8, 7);
    post(a, op);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::ok);
    EXPECT_EQ(op.op.fetched, 20u);
    EXPECT_EQ(words_, (std::array<std::uint64_t, 4>{1, 27, 300, 4000}));
}

TEST_P(Atomics, CompareSwapOnlyWhenEqual) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("atomics", caps().atomics);
    Lent& remote = lend_words(b);
    na::Peer& peer = peer_of(a, b);
    TestOp& unequal = make_atomic(na::OpKind::compare_swap, peer, remote, 16, 1, 299);
    post(a, unequal);
    ASSERT_TRUE(run_until_done(unequal));
    EXPECT_EQ(unequal.result, Errc::ok);
    EXPECT_EQ(unequal.op.fetched, 300u);
    EXPECT_EQ(words_[2], 300u);
    TestOp& equal = make_atomic(na::OpKind::compare_swap, peer, remote, 16, 1, 300);
    post(a, equal);
    ASSERT_TRUE(run_until_done(equal));
    EXPECT_EQ(equal.op.fetched, 300u);
    EXPECT_EQ(words_[2], 1u);
}

TEST_P(Atomics, EachOldValueIsSeenOnce) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("atomics", caps().atomics);
    Lent& remote = lend_words(b);
    na::Peer& peer = peer_of(a, b);
    constexpr std::uint64_t count = 100;
    for (std::uint64_t i = 0; i < count; ++i) {
        post(a, make_atomic(na::OpKind::fetch_add, peer, remote, 0, 1));
    }
    ASSERT_TRUE(run_until([&] { return std::all_of(ops_.begin(), ops_.end(), [](auto& op) { return op.done(); }); }));
    std::set<std::uint64_t> seen;
    for (const TestOp& op : ops_) seen.insert(op.op.fetched);
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(words_[0], 1 + count);
}

TEST_P(Atomics, UnalignedOrMissingMemoryIsRefusedAtThePost) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("atomics", caps().atomics);
    Lent& remote = lend_words(b);
    na::Peer& peer = peer_of(a, b);
    for (const std::uint64_t offset : {4u, 1u, 32u, 40u}) {
        EXPECT_EQ(post_now(a, make_atomic(na::OpKind::fetch_add, peer, remote, offset, 1)), Errc::invalid_argument);
    }
}

TEST_P(Atomics, NeedBothPermissions) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("atomics", caps().atomics);
    Lent& remote = lend_words(b, na::Access::read);
    TestOp& op = make_atomic(na::OpKind::fetch_add, peer_of(a, b), remote, 0, 1);
    post(a, op);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_TRUE(op.result == Errc::permission || op.result == Errc::peer_lost) << to_string(op.result);
    EXPECT_EQ(words_[0], 1u);
}

}  // namespace cinnabar::contract
