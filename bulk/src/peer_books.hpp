// SPDX-License-Identifier: BSD-3-Clause
// The peers with running transfers: each has a PeerBook, which is in at most one ring.
#pragma once

#include "transfer_slot.hpp"

#include <cinnabar/base/slot_pool.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::bulk {

// The running transfers with one peer; holds a reference to the peer.
struct PeerBook : PoolSlot {
    na::Peer* peer = nullptr;
    PeerBook* next_in_bucket = nullptr;
    std::size_t port_index = 0;
    std::uint64_t bytes = 0;  // in flight
    std::uint32_t chunks = 0;
    std::uint32_t chunks_max = 0;
    std::uint32_t far_buffers = 0;  // held by its chunks
    std::uint32_t by_handle = 0;    // chunks that are copied by handle
    // Which ring of PeerBooks the book is in, if any.
    enum class RingKind : std::uint8_t {
        ring,     // may post
        stalled,  // the port has no room
        full,     // the context's budget is used up
    };
    RingKind ring_kind = RingKind::ring;
    ListLink<PeerBook> ring_link;
    IntrusiveList<TransferSlot, &TransferSlot::ready_link> ready;
    IntrusiveList<TransferSlot, &TransferSlot::member_link> members;

    [[nodiscard]] bool in_a_ring() const noexcept {
        return IntrusiveList<PeerBook, &PeerBook::ring_link>::linked(*this);
    }
};

class PeerBooks {
  public:
    static constexpr std::uint32_t peers_max = 65'536;

    PeerBooks() : books_(ThreadUse::one, peers_max) {}

    [[nodiscard]] PeerBook* find(const na::Peer& peer) const noexcept;
    // Adds a transfer to the book of its peer, which is made for the first one. Null: no memory, or too many peers.
    [[nodiscard]] PeerBook* join(TransferSlot& slot, na::Peer& peer, std::size_t port_index,
                                 std::uint32_t chunks_max) noexcept;
    // Removes a transfer with no chunks in flight; with its last transfer, the book is removed.
    void leave(TransferSlot& slot) noexcept;
    // Calls f(book) for each; f may remove that book.
    template <typename F>
    void for_each(F&& f) noexcept {
        for (PeerBook* book : table_) {
            while (book) {
                PeerBook* const next = book->next_in_bucket;
                f(*book);
                book = next;
            }
        }
    }

    // Requires: in no ring.
    void enter(PeerBook& book, PeerBook::RingKind kind) noexcept;
    // Requires: in a ring.
    void leave_ring(PeerBook& book) noexcept { ring(book.ring_kind).remove(book); }
    // Appends the book to the ring of books that may post, if the book has ready transfers and is in no ring.
    void enter_if_ready(PeerBook& book) noexcept {
        if (!book.ready.empty() && !book.in_a_ring()) enter(book, PeerBook::RingKind::ring);
    }
    // The book that has waited longest; null: none.
    [[nodiscard]] PeerBook* first(PeerBook::RingKind kind) const noexcept { return rings_[index(kind)].front(); }

  private:
    using Ring = IntrusiveList<PeerBook, &PeerBook::ring_link>;
    static constexpr std::size_t buckets = 256;
    static constexpr std::size_t index(PeerBook::RingKind kind) noexcept { return static_cast<std::size_t>(kind); }
    [[nodiscard]] Ring& ring(PeerBook::RingKind kind) noexcept { return rings_[index(kind)]; }

    SlotPool<PeerBook> books_;
    std::array<PeerBook*, buckets> table_{};  // by peer
    std::array<Ring, 3> rings_;               // by PeerBook::RingKind
};

}  // namespace cinnabar::bulk
