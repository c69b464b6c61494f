// SPDX-License-Identifier: BSD-3-Clause
// Leases: once a revocation is complete, memory is no longer read or written through the lease, even if transfers were
// running.
#include "contract.hpp"

#include <cinnabar/na/guests.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace cinnabar::contract {

class LeaseContract : public ContractTest {};
CINNABAR_CONTRACT(LeaseContract);

// Why a transport skips the tests of leaked descriptors.
constexpr const char* no_confined_leases =
    "leases for some peers: its keys are valid for every connection (verbs: the device has no memory windows; shm of "
    "one user: peers copy by themselves)";
constexpr const char* no_guests = "leases for guests: their accesses do not pass the owner (verbs)";

TEST_P(LeaseContract, AKeyIsVoidAfterItsRevocation) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    revoke(remote);
    for (const na::OpKind kind : {na::OpKind::put, na::OpKind::get}) {
        TestOp& op = make_rma(kind, peer, *local, remote, 64);
        post(a, op);
        ASSERT_TRUE(run_until_done(op));
        EXPECT_TRUE(op.result == Errc::permission || op.result == Errc::peer_lost) << to_string(op.result);
    }
    EXPECT_TRUE(there.holds(2));
    EXPECT_TRUE(here.holds(1));
}

TEST_P(LeaseContract, ANewLeaseOfTheSameMemoryDoesNotReviveTheOldKey) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& old = lend(b, {there.segment()});
    revoke(old);
    Lent& fresh = lend(b, {there.segment()});
    EXPECT_NE(old.key, fresh.key);
    TestOp& with_old = make_rma(na::OpKind::put, peer, *local, old, 64);
    post(a, with_old);
    ASSERT_TRUE(run_until_done(with_old));
    EXPECT_NE(with_old.result, Errc::ok);
    EXPECT_TRUE(there.holds(2));
    TestOp& with_fresh = make_rma(na::OpKind::put, peer, *local, fresh, 64);
    post(a, with_fresh);
    ASSERT_TRUE(run_until_done(with_fresh));
    EXPECT_EQ(with_fresh.result, Errc::ok);
    EXPECT_TRUE(there.holds(1));
}

TEST_P(LeaseContract, AConfinedLeaseIsOfNoUseToAnotherPeerThatHasItsKey) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    Node& thief = make_node("thief");
    CINNABAR_NEEDS(no_confined_leases, caps().confines);
    na::Peer* there_peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there_peer, back);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()}, na::Access::read_write, na::LentTo::one_peer);
    confine_and_tell(b, remote, *back);
    GuardedBuffer stolen(64, 3);
    auto loot = register_memory(thief, {stolen.segment()});
    na::Peer& victim = peer_of(thief, b);
    std::vector<na::OpKind> kinds{na::OpKind::put, na::OpKind::get};
    if (caps().atomics) kinds.insert(kinds.end(), {na::OpKind::fetch_add, na::OpKind::compare_swap});
    for (const na::OpKind kind : kinds) {
        const bool moves = kind == na::OpKind::put || kind == na::OpKind::get;
        TestOp& op = make_rma(kind, victim, *loot, remote, moves ? 64 : 8);
        post(thief, op);
        ASSERT_TRUE(run_until_done(op));
        EXPECT_EQ(op.result, Errc::permission) << to_string(op.result);
    }
    EXPECT_TRUE(there.holds(2));
    EXPECT_TRUE(stolen.holds(3));
    TestOp& allowed = make_rma(na::OpKind::get, *there_peer, *local, remote, 64);
    post(a, allowed);
    ASSERT_TRUE(run_until_done(allowed));
    EXPECT_EQ(allowed.result, Errc::ok) << to_string(allowed.result);
    EXPECT_TRUE(here.holds(2));

    revoke(remote);
    Lent& open_to_all = lend(b, {there.segment()});
    TestOp& invited = make_rma(na::OpKind::get, victim, *loot, open_to_all, 64);
    post(thief, invited);
    ASSERT_TRUE(run_until_done(invited));
    EXPECT_EQ(invited.result, Errc::ok) << to_string(invited.result);
}

// Whether it was confined, was to be told to the peer, or was told.
TEST_P(LeaseContract, ALeaseForOnePeerIsRevokedAtAnyTime) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    auto local = register_memory(a, {here.segment()});
    const auto get_from = [&](Lent& lent) {
        TestOp& op = make_rma(na::OpKind::get, *peer, *local, lent, 64);
        post(a, op);
        EXPECT_TRUE(run_until_done(op));
        return op.result;
    };
    for (const int steps : {0, 1, 2, 3}) {
        Lent& lent = lend(b, {there.segment()}, na::Access::read, na::LentTo::one_peer);
        if (steps > 0) b.transport->confine(lent.lease, *back);
        TestOp* told = nullptr;
        if (steps > 1) told = &send(b, *back, 7, 8);
        if (steps == 2) (void)b.context->progress(Microseconds(0));
        if (steps == 3) {
            ASSERT_TRUE(run_until_done(*told));
            EXPECT_EQ(get_from(lent), Errc::ok);
        }
        revoke(lent);
        EXPECT_FALSE(lent.lease.fence_failed) << steps;
        if (told) {
            ASSERT_TRUE(run_until_done(*told)) << steps;
            EXPECT_EQ(told->result, Errc::ok) << steps;
        }
    }
    EXPECT_EQ(back->state(), na::PeerState::connected) << "no revocation may end the session";
    Lent& last = lend(b, {there.segment()}, na::Access::read, na::LentTo::one_peer);
    confine_and_tell(b, last, *back);
    EXPECT_EQ(get_from(last), Errc::ok);
    revoke(last);
    EXPECT_NE(get_from(last), Errc::ok);
}

TEST_P(LeaseContract, ALeaseForAPeerThatIsGoneCanBeRevoked) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    GuardedBuffer there(64, 2);
    Lent& lent = lend(b, {there.segment()}, na::Access::read_write, na::LentTo::one_peer);
    confine_and_tell(b, lent, *back);
    Lent& waiting = lend(b, {there.segment()}, na::Access::read_write, na::LentTo::one_peer);
    b.transport->confine(waiting.lease, *back);
    a.port().disconnect(*peer);
    ASSERT_TRUE(run_until([&] { return back->state() != na::PeerState::connected; }));
    revoke(lent);
    revoke(waiting);
    EXPECT_FALSE(lent.lease.fence_failed);
    EXPECT_FALSE(waiting.lease.fence_failed);
}

// More segments than a session has work requests.
TEST_P(LeaseContract, ALeaseForOnePeerMayHaveManySegments) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    constexpr std::size_t count = 300;
    constexpr std::size_t each = 16;
    GuardedBuffer there(count * each * 2, 2);
    std::vector<na::Segment> pieces;
    for (std::size_t i = 0; i < count; ++i) pieces.push_back({there.bytes().data() + i * each * 2, each});
    GuardedBuffer here(count * each, 1);
    auto local = register_memory(a, {here.segment()});
    Lent& lent = lend(b, pieces, na::Access::read, na::LentTo::one_peer);
    confine_and_tell(b, lent, *back);
    for (const std::size_t i : {std::size_t{0}, count / 2, count - 1}) {
        TestOp& op = make_rma(na::OpKind::get, *peer, *local, lent, each, i * each, i * each);
        post(a, op);
        ASSERT_TRUE(run_until_done(op));
        EXPECT_EQ(op.result, Errc::ok) << i << to_string(op.result);
        EXPECT_TRUE(here.holds(2, i * each, each, i * each * 2));
    }
    revoke(lent);
}

// The owner knows a third party by the address of its connection.
class OneGuest final : public na::Guests {
  public:
    explicit OneGuest(na::Addr addr) noexcept : addr_(std::move(addr)) {}
    [[nodiscard]] bool include(const na::Addr& addr) const noexcept override { return addr == addr_; }

  private:
    na::Addr addr_;
};

TEST_P(LeaseContract, AGuestOfAConfinedLeaseMayUseItAndNobodyElseMay) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    Node& guest = make_node("guest");
    Node& thief = make_node("thief");
    CINNABAR_NEEDS(no_confined_leases, caps().confines);
    CINNABAR_NEEDS(no_guests, caps().admits_guests);
    na::Peer* there_peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there_peer, back);
    na::Peer* owner_of_guest = nullptr;
    na::Peer* guest_back = nullptr;
    connect(guest, b, owner_of_guest, guest_back);
    GuardedBuffer here(64, 1);
    GuardedBuffer there(64, 2);
    Lent& remote = lend(b, {there.segment()});
    remote.lease.guests = std::make_shared<OneGuest>(guest_back->addr());
    b.transport->confine(remote.lease, *back);
    const auto get_by = [&](Node& node, na::Peer& owner, Lent& from) {
        auto into = register_memory(node, {here.segment()});
        here.fill(1);
        TestOp& op = make_rma(na::OpKind::get, owner, *into, from, 64);
        post(node, op);
        EXPECT_TRUE(run_until_done(op));
        EXPECT_TRUE(here.holds(op.result == Errc::ok ? 2 : 1));
        return op.result;
    };
    EXPECT_EQ(get_by(a, *there_peer, remote), Errc::ok) << "the peer that it was made for";
    EXPECT_EQ(get_by(guest, *owner_of_guest, remote), Errc::ok);
    EXPECT_EQ(get_by(thief, peer_of(thief, b), remote), Errc::permission);
    revoke(remote);
    EXPECT_NE(get_by(guest, *owner_of_guest, remote), Errc::ok) << "a guest has no more rights than the peer";
    Lent& next = lend(b, {there.segment()});
    b.transport->confine(next.lease, *back);
    EXPECT_EQ(get_by(guest, *owner_of_guest, next), Errc::permission) << "a guest of another lease";
    EXPECT_EQ(get_by(a, *there_peer, next), Errc::ok);
}

TEST_P(LeaseContract, NoByteIsWrittenAfterARevocationInMidTransfer) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there_peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there_peer, back);
    const std::size_t bytes = large_rma();
    GuardedBuffer here(bytes, 1);
    GuardedBuffer there(bytes);
    auto local = register_memory(a, {here.segment()});
    // The number of rounds before the revocation grows, so that it happens before, during and after the transfer.
    for (unsigned rounds = 0; rounds < 24; ++rounds) {
        there.fill(2);
        Lent& remote = lend(b, {there.segment()});
        TestOp& op = make_rma(na::OpKind::put, *there_peer, *local, remote, bytes);
        if (there_peer->state() != na::PeerState::connected) connect(a, b, there_peer, back);
        op.op.peer = there_peer;
        post(a, op);
        for (unsigned i = 0; i < rounds; ++i) {
            (void)pump_.round();
            if (network_.is_sim()) (void)network_.world().advance();
        }
        revoke(remote);
        // The owner may use the memory again, so a late write would destroy this pattern.
        there.fill(7);
        ASSERT_TRUE(run_until_done(op)) << rounds;
        if (network_.is_sim()) pump_.run_for(Microseconds(20'000));
        EXPECT_TRUE(there.holds(7)) << "written after the revocation, round " << rounds;
        lent_.back().memory.reset();
    }
}

TEST_P(LeaseContract, NoByteIsReadAfterARevocation) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    GuardedBuffer here(4096);
    GuardedBuffer there(4096, 2);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()}, na::Access::read);
    revoke(remote);
    there.fill(9);  // a secret
    TestOp& op = make_rma(na::OpKind::get, *peer, *local, remote, 4096);
    post(a, op);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_NE(op.result, Errc::ok);
    EXPECT_EQ(here.bytes()[0], std::byte{0});
    EXPECT_EQ(here.bytes()[4095], std::byte{0});
}

TEST_P(LeaseContract, ALeaseIsRevokedWhileTheOriginDoesNotRead) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    constexpr std::byte old{1};
    constexpr std::byte secret{9};
    const std::size_t bytes = b.transport->limits().rma_bytes_max;
    const std::size_t size = std::min<std::size_t>(bytes, 16 * 1024 * 1024);
    std::vector<std::byte> here(size);
    std::vector<std::byte> there(size, old);
    auto local = register_memory(a, {{here.data(), size}});
    Lent& remote = lend(b, {{there.data(), size}}, na::Access::read);
    TestOp& op = make_rma(na::OpKind::get, *peer, *local, remote, size);
    post(a, op);
    for (int i = 0; i < 4; ++i) (void)a.context->progress(Microseconds(0));
    pump_.remove(*a.context);  // stopped
    for (int i = 0; i < 100; ++i) (void)pump_.round();
    revoke(remote);
    // After a failed fence the lender leaves the memory unchanged until the origin makes progress.
    const bool ours = !remote.lease.fence_failed;
    if (ours) std::fill(there.begin(), there.end(), secret);
    pump_.add(*a.context);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(std::count(here.begin(), here.end(), secret), 0);
    if (op.result == Errc::ok) {
        EXPECT_EQ(std::count(here.begin(), here.end(), old), size);
    }
    EXPECT_TRUE(ours || op.result == Errc::ok || op.result == Errc::permission) << to_string(op.result);
}

TEST_P(LeaseContract, GrantsNoMoreThanWasRegistered) {
    Node& b = make_node("b");
    GuardedBuffer there(64);
    auto memory = register_memory(b, {there.segment()}, na::Access::read);
    na::Lease lease;
    lease.memory = memory.get();
    lease.bytes = 64;
    lease.access = na::Access::write;
    EXPECT_EQ(b.transport->grant(lease), Errc::permission);
    EXPECT_FALSE(lease.granted());
    lease.access = na::Access::read;
    lease.bytes = 65;
    EXPECT_EQ(b.transport->grant(lease), Errc::invalid_argument);
    lease.bytes = 1;
    lease.offset = 64;
    EXPECT_EQ(b.transport->grant(lease), Errc::invalid_argument);
    EXPECT_FALSE(lease.granted());
}

TEST_P(LeaseContract, ManyLeasesHaveDifferentKeys) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    constexpr std::size_t count = 200;
    constexpr std::size_t each = 64;
    GuardedBuffer here(count * each, 1);
    GuardedBuffer there(count * each);
    auto local = register_memory(a, {here.segment()});
    auto memory = register_memory(b, {there.segment()});
    std::deque<Lent> leases;
    for (std::size_t i = 0; i < count; ++i) {
        Lent& lent = leases.emplace_back();
        lent.owner = &b;
        lent.lease.memory = memory.get();
        lent.lease.offset = i * each;
        lent.lease.bytes = each;
        lent.lease.access = na::Access::write;
        ASSERT_EQ(b.transport->grant(lent.lease), Errc::ok);
        lent.key.resize(b.transport->described_bytes(lent.lease));
        EXPECT_LE(lent.key.size(), b.transport->limits().lease_key_bytes_max);
        ByteWriter writer(lent.key);
        b.transport->describe(lent.lease, writer);
        ASSERT_TRUE(writer.ok());
    }
    for (std::size_t i = 0; i < count; ++i) {
        post(a, make_rma(na::OpKind::put, peer, *local, leases[i], each, i * each));
    }
    ASSERT_TRUE(run_until([&] { return std::all_of(ops_.begin(), ops_.end(), [](auto& op) { return op.done(); }); }));
    for (const TestOp& op : ops_) EXPECT_EQ(op.result, Errc::ok) << to_string(op.result);
    EXPECT_TRUE(there.holds(1));
    for (Lent& lent : leases) revoke(lent);
}

TEST_P(LeaseContract, AKeyThatDoesNotFitFailsTheWriter) {
    Node& b = make_node("b");
    GuardedBuffer there(64);
    Lent& lent = lend(b, {there.segment()});
    std::vector<std::byte> room(lent.key.size() - 1);
    ByteWriter writer(room);
    b.transport->describe(lent.lease, writer);
    EXPECT_FALSE(writer.ok());
}

}  // namespace cinnabar::contract
