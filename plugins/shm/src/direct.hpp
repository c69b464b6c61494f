// SPDX-License-Identifier: BSD-3-Clause
// A mapping of a peer's memory for direct access: the mapped file, the lease on the peer's board, and a direct slot of
// the outgoing ring, which tells the peer which lease is being accessed.
#pragma once

#include "lease_board.hpp"
#include "outgoing_ring.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/direct_memory.hpp>
#include <cinnabar/na/op.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace cinnabar::shm {

struct Channel;

// A direct slot of an outgoing ring, for as long as a mapping uses it.
class DirectSlot {
  public:
    explicit DirectSlot(std::shared_ptr<OutgoingRing> ring) noexcept : ring_(std::move(ring)), index_(ring_->take()) {}
    ~DirectSlot() {
        if (ring_ && *this) ring_->give_back(index_);
    }
    DirectSlot(DirectSlot&& other) noexcept : ring_(std::move(other.ring_)), index_(other.index_) {}
    DirectSlot& operator=(DirectSlot&&) = delete;

    explicit operator bool() const noexcept { return index_ != OutgoingRing::no_slot; }
    // Announces an access by the lease in that slot of the lease board. False: do not access the memory, because the
    // session has ended, and the peer may no longer look for announcements.
    [[nodiscard]] bool enter(std::uint32_t lease_slot) noexcept {
        RingHeader& header = ring_->header();
        header.accesses[index_].slot.store(std::uint64_t{lease_slot} + 1, std::memory_order_seq_cst);
        return header.ended.load(std::memory_order_seq_cst) == 0;
    }
    void leave() noexcept { ring_->header().accesses[index_].slot.store(0, std::memory_order_release); }

  private:
    std::shared_ptr<OutgoingRing> ring_;
    unsigned index_;
};

// Where a lease is, as a session has mapped it.
struct MappedLease {
    std::shared_ptr<const Segment> file;
    std::uint64_t position = 0;  // in the file
    std::uint32_t slot = 0;      // of the board
    na::LeaseKey key;
};

// Maps the memory of a lease, if the peer's library allocated it (view.cpp). The result's `position` is where `offset`
// lies in the file. The lease is pinned only during the call. Errors: as na::Port::view. Owner of the context only.
[[nodiscard]] Result<MappedLease> map_lease(Channel& channel, const na::RemoteMemory& memory, std::uint64_t offset,
                                            std::uint64_t bytes, na::Access want);

class MappedMemory final : public na::DirectMemory {
  public:
    // The memory begins at `offset` in the lease, and at lease.position in the file.
    MappedMemory(MappedLease lease, std::uint64_t offset, std::uint64_t bytes, na::Access access, BoardView board,
                 DirectSlot slot) noexcept
        : DirectMemory(bytes),
          lease_(std::move(lease)),
          offset_(offset),
          access_(access),
          board_(std::move(board)),
          slot_(std::move(slot)) {}

    [[nodiscard]] Errc read(std::uint64_t offset, Bytes to) noexcept override;
    [[nodiscard]] Errc write(std::uint64_t offset, ConstBytes from) noexcept override;
    [[nodiscard]] Errc word(std::uint64_t offset, na::DirectWord& word) noexcept override;

  private:
    template <typename Move>
    [[nodiscard]] Errc pinned(std::uint64_t offset, std::uint64_t bytes, na::Access want, const Move& move) noexcept;

    const MappedLease lease_;
    const std::uint64_t offset_;
    const na::Access access_;
    BoardView board_;
    DirectSlot slot_;
    std::atomic<bool> busy_{false};  // a thread uses the slot
};

}  // namespace cinnabar::shm
