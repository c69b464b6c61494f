// SPDX-License-Identifier: BSD-3-Clause
// Put and get: the bytes arrive at the right place and nowhere else; which accesses are refused, and with which error.
#include "contract.hpp"

#include <cinnabar/na/lease_table.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace cinnabar::contract {

class Rma : public ContractTest {
  protected:
    // A refused access has its own error code, or breaks the connection.
    static bool refused(const TestOp& op) {
        return op.result == Errc::permission || op.result == Errc::too_large || op.result == Errc::protocol ||
               op.result == Errc::invalid_argument || op.result == Errc::peer_lost;
    }
};
CINNABAR_CONTRACT(Rma);

TEST_P(Rma, PutPlacesEveryByteBeforeItCompletes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{65'537}, large_rma()}) {
        GuardedBuffer from(bytes + 1, 11);
        GuardedBuffer to(bytes + 1);
        auto local = register_memory(a, {from.segment()});
        Lent& remote = lend(b, {to.segment()});
        TestOp& op = make_rma(na::OpKind::put, peer, *local, remote, bytes);
        post(a, op);
        ASSERT_TRUE(run_until_done(op)) << bytes;
        ASSERT_EQ(op.result, Errc::ok) << bytes << ' ' << to_string(op.result);
        EXPECT_TRUE(to.holds(11, 0, bytes, 0)) << bytes;
        EXPECT_EQ(to.bytes().back(), std::byte{0}) << "one too many was written";
        EXPECT_TRUE(from.holds(11));
        revoke(remote);
    }
}

TEST_P(Rma, GetFetchesEveryByteBeforeItCompletes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{65'537}, large_rma()}) {
        GuardedBuffer to(bytes + 1);
        GuardedBuffer from(bytes + 1, 12);
        auto local = register_memory(a, {to.segment()});
        Lent& remote = lend(b, {from.segment()}, na::Access::read);
        TestOp& op = make_rma(na::OpKind::get, peer, *local, remote, bytes);
        post(a, op);
        ASSERT_TRUE(run_until_done(op)) << bytes;
        ASSERT_EQ(op.result, Errc::ok) << bytes << ' ' << to_string(op.result);
        EXPECT_TRUE(to.holds(12, 0, bytes, 0)) << bytes;
        EXPECT_EQ(to.bytes().back(), std::byte{0}) << "one too many was written";
        revoke(remote);
    }
}

TEST_P(Rma, OffsetsOnBothSides) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(10'000, 1);
    GuardedBuffer there(10'000, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, 1234, 777, 4321);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    ASSERT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(there.holds(2, 0, 4321, 0));
    EXPECT_TRUE(there.holds(1, 4321, 1234, 777));
    EXPECT_TRUE(there.holds(2, 5555, 4445, 5555));
    TestOp& get = make_rma(na::OpKind::get, peer, *local, remote, 100, 9900, 0);
    post(a, get);
    ASSERT_TRUE(run_until_done(get));
    ASSERT_EQ(get.result, Errc::ok);
    EXPECT_TRUE(here.holds(1, 0, 9900, 0));
    EXPECT_TRUE(here.holds(2, 9900, 100, 0));
}

TEST_P(Rma, OffsetsCountFromTheLeaseNotFromTheRegistration) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(100, 1);
    GuardedBuffer there(1000, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend_part(b, {there.segment()}, na::Access::read_write, 600, 200);
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, 50, 0, 150);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    ASSERT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(there.holds(2, 0, 750, 0));
    EXPECT_TRUE(there.holds(1, 750, 50, 0));
    EXPECT_TRUE(there.holds(2, 800, 200, 800));
}

TEST_P(Rma, LocalSegmentsAreGatheredAndScattered) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    const std::size_t count = std::min<std::size_t>(a.transport->limits().op_segments_max, 40);
    ASSERT_GE(count, 2u);
    std::vector<GuardedBuffer> pieces;
    std::vector<na::Segment> segments;
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        GuardedBuffer& piece = pieces.emplace_back(1 + i * 13);
        support::fill_pattern(piece.bytes(), 3, total);
        total += piece.size();
    }
    for (GuardedBuffer& piece : pieces) segments.push_back(piece.segment());
    GuardedBuffer there(total);
    auto local = register_memory(a, segments);
    Lent& remote = lend(b, {there.segment()});
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, total);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    ASSERT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(there.holds(3));

    there.fill(4);
    TestOp& get = make_rma(na::OpKind::get, peer, *local, remote, total);
    post(a, get);
    ASSERT_TRUE(run_until_done(get));
    ASSERT_EQ(get.result, Errc::ok);
    std::size_t first = 0;
    for (GuardedBuffer& piece : pieces) {
        EXPECT_TRUE(piece.holds(4, 0, piece.size(), first));
        first += piece.size();
    }
}

TEST_P(Rma, ShortTransfersAcrossPagesAreWhole) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    constexpr std::size_t page = 4096;
    std::vector<std::byte> mine(3 * page);
    std::vector<std::byte> theirs(3 * page);
    const auto two_pages = [](std::vector<std::byte>& room) {
        void* at = room.data();
        std::size_t left = room.size();
        return Bytes(static_cast<std::byte*>(std::align(page, 2 * page, at, left)), 2 * page);
    };
    const Bytes here = two_pages(mine);
    const Bytes there = two_pages(theirs);
    auto local = register_memory(a, {{here.data(), here.size()}});
    Lent& remote = lend(b, {{there.data(), there.size()}});
    struct Part {
        std::size_t begin;
        std::size_t bytes;
    };
    std::vector<Part> parts;
    for (const std::size_t bytes : {std::size_t{2}, std::size_t{27}, std::size_t{32}, std::size_t{33}, std::size_t{48}})
        for (const std::size_t before : {std::size_t{1}, bytes / 3, bytes / 2, bytes - 1})
            if (before > 0) parts.push_back({page - before, bytes});
    for (const na::OpKind kind : {na::OpKind::get, na::OpKind::put}) {
        const Bytes from = kind == na::OpKind::get ? there : here;
        const Bytes to = kind == na::OpKind::get ? here : there;
        for (const Part& part : parts) {
            support::fill_pattern(from, part.begin + part.bytes);
            std::fill(to.begin(), to.end(), std::byte{0});
            // Several at once, so that some wait in the queue of the device.
            std::vector<TestOp*> ops;
            for (int i = 0; i < 4; ++i) {
                TestOp& op = make_rma(kind, peer, *local, remote, part.bytes, part.begin, part.begin);
                ops.push_back(&op);
                post(a, op);
            }
            for (TestOp* op : ops) {
                ASSERT_TRUE(run_until_done(*op));
                ASSERT_EQ(op->result, Errc::ok);
            }
            EXPECT_TRUE(support::holds_pattern(to.subspan(part.begin, part.bytes), part.begin + part.bytes, part.begin))
                << part.bytes << " bytes, " << page - part.begin << " on the first page";
        }
    }
}

TEST_P(Rma, CrossesThePeersSegmentsIfItResolvesOffsets) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("offset_addressing", caps().offset_addressing);
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer first(100);
    GuardedBuffer second(1);
    GuardedBuffer third(1000);
    GuardedBuffer here(1000, 6);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {first.segment(), second.segment(), third.segment()});
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, 500, 0, 90);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    ASSERT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(first.holds(6, 90, 10, 0));
    EXPECT_TRUE(second.holds(6, 0, 1, 10));
    EXPECT_TRUE(third.holds(6, 0, 489, 11));
    EXPECT_EQ(third.bytes()[489], std::byte{0});
    here.fill(0);
    TestOp& get = make_rma(na::OpKind::get, peer, *local, remote, 500, 0, 90);
    post(a, get);
    ASSERT_TRUE(run_until_done(get));
    ASSERT_EQ(get.result, Errc::ok);
    EXPECT_TRUE(here.holds(6, 0, 500, 0));
}

TEST_P(Rma, StaysInsideOneSegmentIfItMust) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("per-segment keys", !caps().offset_addressing);
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer first(100);
    GuardedBuffer second(100);
    GuardedBuffer here(200, 6);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {first.segment(), second.segment()});
    TestOp& crossing = make_rma(na::OpKind::put, peer, *local, remote, 20, 0, 90);
    EXPECT_EQ(post_now(a, crossing), Errc::invalid_argument);
    TestOp& inside = make_rma(na::OpKind::put, peer, *local, remote, 100, 0, 100);
    post(a, inside);
    ASSERT_TRUE(run_until_done(inside));
    ASSERT_EQ(inside.result, Errc::ok);
    EXPECT_TRUE(second.holds(6));
    EXPECT_EQ(first.bytes()[90], std::byte{0});
}

TEST_P(Rma, ManyInFlight) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    constexpr std::size_t count = 64;
    constexpr std::size_t each = 5000;
    GuardedBuffer from(count * each, 21);
    GuardedBuffer to(count * each);
    auto local = register_memory(a, {from.segment()});
    Lent& remote = lend(b, {to.segment()});
    std::vector<TestOp*> puts;
    for (std::size_t i = 0; i < count; ++i) {
        // Backwards, so that a wrong order would be noticed.
        const std::size_t at = (count - 1 - i) * each;
        puts.push_back(&make_rma(na::OpKind::put, peer, *local, remote, each, at, at));
        post(a, *puts.back());
    }
    ASSERT_TRUE(run_until([&] { return std::all_of(puts.begin(), puts.end(), [](auto* op) { return op->done(); }); }));
    for (const TestOp* op : puts) EXPECT_EQ(op->result, Errc::ok);
    EXPECT_TRUE(to.holds(21));
}

TEST_P(Rma, AWrongKeyIsRefusedAndWritesNothing) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    // Changes each byte of the key in turn. If the byte describes a segment, the post itself may be refused.
    for (std::size_t i = 0; i < remote.key.size(); ++i) {
        std::vector<std::byte> key = remote.key;
        key[i] ^= std::byte{0x41};
        for (const na::OpKind kind : {na::OpKind::put, na::OpKind::get}) {
            TestOp& op = make_rma(kind, peer, *local, remote, 64);
            op.op.remote.key = key;
            const Errc taken = post_now(a, op);
            if (taken != Errc::ok) continue;
            ASSERT_TRUE(run_until_done(op)) << i;
            // A forged segment length is harmless: the owner uses its own.
            if (op.result == Errc::ok) {
                EXPECT_GE(i, na::LeaseKey::wire_bytes) << "byte " << i << " of the key does not matter";
                there.fill(2);
                here.fill(1);
                continue;
            }
            EXPECT_TRUE(refused(op)) << i << ' ' << to_string(op.result);
            EXPECT_TRUE(there.holds(2)) << i;
            EXPECT_TRUE(here.holds(1)) << i;
        }
    }
    // The network still works.
    TestOp& good = make_rma(na::OpKind::put, peer, *local, remote, 64);
    post(a, good);
    ASSERT_TRUE(run_until_done(good));
    EXPECT_EQ(good.result, Errc::ok) << to_string(good.result);
}

TEST_P(Rma, ATruncatedKeyIsRefused) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, remote.key.size() - 1}) {
        TestOp& op = make_rma(na::OpKind::put, peer, *local, remote, 64);
        op.op.remote.key = ConstBytes(remote.key).first(bytes);
        const Errc taken = post_now(a, op);
        if (taken == Errc::ok) {
            ASSERT_TRUE(run_until_done(op));
            EXPECT_TRUE(refused(op)) << to_string(op.result);
        } else {
            EXPECT_TRUE(taken == Errc::invalid_argument || taken == Errc::permission || taken == Errc::protocol)
                << to_string(taken);
        }
        EXPECT_TRUE(there.holds(2));
    }
}

TEST_P(Rma, ReadOnlyMemoryIsNotWritten) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& readable = lend(b, {there.segment()}, na::Access::read);
    TestOp& put = make_rma(na::OpKind::put, peer, *local, readable, 64);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    EXPECT_TRUE(refused(put)) << to_string(put.result);
    EXPECT_TRUE(there.holds(2));
}

TEST_P(Rma, WriteOnlyMemoryIsNotRead) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    const bool iwarp = b.transport->diagnosis().find("iWARP") != std::string::npos;
    CINNABAR_NEEDS("a device that checks reads (siw of Linux 6.1 does not)", !iwarp);
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& writable = lend(b, {there.segment()}, na::Access::write);
    TestOp& get = make_rma(na::OpKind::get, peer, *local, writable, 64);
    post(a, get);
    ASSERT_TRUE(run_until_done(get));
    EXPECT_TRUE(refused(get)) << to_string(get.result);
    EXPECT_TRUE(here.holds(1));
}

TEST_P(Rma, BeyondTheLeaseIsRefusedByItsOwner) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(300, 1);
    GuardedBuffer there(300, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend_part(b, {there.segment()}, na::Access::read_write, 100, 100);
    for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::uint64_t>{0, 101},
                                        {100, 1},
                                        {99, 2},
                                        {150, 50},
                                        {~std::uint64_t{0} - 49, 50}}) {
        TestOp& op = make_rma(na::OpKind::put, peer, *local, remote, bytes, 0, offset);
        op.op.remote.bytes = ~std::uint64_t{0};  // false, but na cannot check it
        const Errc taken = post_now(a, op);
        if (taken == Errc::ok) {
            ASSERT_TRUE(run_until_done(op)) << offset;
            EXPECT_TRUE(refused(op)) << to_string(op.result);
        }
        EXPECT_TRUE(there.holds(2)) << offset;
    }
}

TEST_P(Rma, ToOneself) {
    Node& a = make_node("a");
    na::Peer& peer = peer_of(a, a);
    GuardedBuffer here(5000, 1);
    GuardedBuffer there(5000);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(a, {there.segment()});
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, 5000);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    EXPECT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(there.holds(1));
}

}  // namespace cinnabar::contract
