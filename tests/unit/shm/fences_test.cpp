// SPDX-License-Identifier: BSD-3-Clause
// Revoking leases that a peer has pinned: the peer unpins them, keeps them, or dies.
#include "raw_peer.hpp"
#include "support/allocation_count.hpp"

#include <optional>

namespace cinnabar::shm {
namespace {

class Fence : public ShmTest {
  protected:
    Fence() {
        const na::Segment segment{bytes_.data(), bytes_.size()};
        memory_ = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
        lease_.memory = memory_.get();
        lease_.bytes = bytes_.size();
        lease_.access = na::Access::write;
        lease_.fenced.user = this;
        lease_.fenced.run = [](WorkItem& work) noexcept { ++static_cast<Fence*>(work.user)->fenced_; };
        EXPECT_EQ(transport_->grant(lease_), Errc::ok);
        std::array<std::byte, 20> key{};
        ByteWriter writer(key);
        transport_->describe(lease_, writer);
        ByteReader reader(key);
        key_ = na::LeaseKey::decode(reader);
        slot_ = reader.u32();
    }
    void pin(RawPeer& peer) {
        connect(peer);
        if (HasFatalFailure()) return;
        peer.writer.header().holding.store(slot_ + 1);
        BoardView::Pinned pinned;
        ASSERT_EQ(peer.view.pin(slot_, key_, 0, 8, na::Access::write, pinned), Errc::ok);
        EXPECT_EQ(pinned.address, reinterpret_cast<std::uintptr_t>(bytes_.data()));
    }
    void unpin(RawPeer& peer) {
        peer.view.unpin(slot_);
        peer.writer.header().holding.store(0);
    }
    // As a thread of the peer does in a direct access.
    void pin_directly(RawPeer& peer) {
        connect(peer);
        if (HasFatalFailure()) return;
        RingHeader& header = peer.writer.header();
        header.mapped_slots.store(std::uint64_t{1} << direct_slot);
        header.accesses[direct_slot].slot.store(slot_ + 1);
        ASSERT_EQ(header.ended.load(), 0u);
        BoardView::Pinned pinned;
        ASSERT_EQ(peer.view.pin(slot_, key_, 0, 8, na::Access::write, pinned), Errc::ok);
    }
    void unpin_directly(RawPeer& peer) {
        peer.view.unpin(slot_);
        peer.writer.header().accesses[direct_slot].slot.store(0);
    }
    void fence_waits_for(RawPeer& peer) {
        EXPECT_EQ(transport_->revoke(lease_), Errc::again);
        unpin_directly(peer);
        ASSERT_TRUE(until([this] { return fenced_ == 1; }));
        EXPECT_FALSE(lease_.fence_failed);
    }

    static constexpr unsigned direct_slot = direct_slots - 1;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
    na::LeaseKey key_;
    std::uint32_t slot_ = 0;
    int fenced_ = 0;
};

TEST_F(Fence, of_an_unused_lease_is_done_at_once) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    unpin(peer);
    EXPECT_EQ(transport_->revoke(lease_), Errc::ok);
    EXPECT_FALSE(lease_.granted());
    BoardView::Pinned pinned;
    EXPECT_EQ(peer.view.pin(slot_, key_, 0, 8, na::Access::write, pinned), Errc::permission);
}

TEST_F(Fence, of_a_pinned_lease_is_done_when_the_pin_goes) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    EXPECT_TRUE(lease_.granted());
    EXPECT_EQ(fenced_, 0);
    unpin(peer);
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    EXPECT_FALSE(lease_.granted());
    EXPECT_FALSE(lease_.fence_failed);
}

TEST_F(Fence, of_a_lease_that_stays_pinned_fails) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    EXPECT_TRUE(lease_.fence_failed);
    EXPECT_FALSE(lease_.granted());
}

// The board and the ring would say the same if a process were stopped inside its system call.
TEST_F(Fence, that_has_failed_is_an_access_until_the_holder_lets_go) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    EXPECT_FALSE(transport_->is_accessed(lease_)) << "it may end well";
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    ASSERT_TRUE(lease_.fence_failed);
    EXPECT_TRUE(transport_->is_accessed(lease_));
    // The holder need not be the peer to which it was lent, so the end of a session proves nothing.
    na::Peer& known = *receiver_.events.front().peer;
    context_->ports().front()->disconnect(known);
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_TRUE(transport_->is_accessed(lease_));
    unpin(peer);
    EXPECT_FALSE(transport_->is_accessed(lease_));
}

TEST_F(Fence, that_has_failed_is_no_access_of_the_dead) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    EXPECT_TRUE(transport_->is_accessed(lease_));
    peer.socket.reset();
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_FALSE(transport_->is_accessed(lease_));
}

TEST_F(Fence, needs_no_memory) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    {
        std::optional<support::NoMemory> out;
        if (support::NoMemory::works()) out.emplace();  // otherwise a sanitizer owns malloc
        EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    }
    unpin(peer);
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    EXPECT_FALSE(lease_.fence_failed);
}

TEST_F(Fence, of_a_lease_pinned_by_a_dead_process_is_done_at_once) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    peer.socket.reset();
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_EQ(transport_->revoke(lease_), Errc::ok);
}

// The session is over, but the process is alive and may be inside a system call.
TEST_F(Fence, of_a_lease_pinned_beyond_its_session_waits) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin(peer));
    na::Peer& known = *receiver_.events.front().peer;
    context_->ports().front()->disconnect(known);
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_EQ(transport_->revoke(lease_), Errc::again);
    unpin(peer);
    ASSERT_TRUE(until([this] { return fenced_ == 1; }));
    EXPECT_FALSE(lease_.fence_failed);
}

TEST_F(Fence, of_a_lease_that_is_accessed_directly_waits) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin_directly(peer));
    fence_waits_for(peer);
}

TEST_F(Fence, of_a_lease_that_is_accessed_directly_beyond_the_session_waits) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin_directly(peer));
    na::Peer& known = *receiver_.events.front().peer;
    context_->ports().front()->disconnect(known);
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_EQ(peer.writer.header().ended.load(), 1u) << "later accesses do not begin";
    fence_waits_for(peer);
}

// The process lives, so another of its threads may be in the access.
TEST_F(Fence, of_a_lease_that_is_accessed_directly_by_who_closed_the_session_waits) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(pin_directly(peer));
    peer.socket.reset();
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    fence_waits_for(peer);
}

// If a session ends while its ring still says that the peer is accessing a lease, the ring stays mapped until the peer
// clears that word, or ends. At most `kept_max` such rings are kept for one peer process.
TEST_F(Fence, of_many_sessions_that_end_with_a_pin_keeps_few_rings) {
    constexpr std::size_t kept_max = 64;
    log_.allow("malformed record");
    const std::size_t before = rings_mapped();
    for (unsigned i = 0; i < 3 * kept_max; ++i) {
        RawPeer peer;
        peer.hello.incarnation = 5000 + i;
        ASSERT_NO_FATAL_FAILURE(connect(peer));
        peer.end_while_holding();
        ASSERT_TRUE(until([&] { return lost() == i + 1; }));
    }
    EXPECT_EQ(rings_mapped() - before, kept_max);
    EXPECT_EQ(transport_->revoke(lease_), Errc::ok);
}

}  // namespace
}  // namespace cinnabar::shm
