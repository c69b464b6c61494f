// SPDX-License-Identifier: BSD-3-Clause
// A mapping of a peer's memory for direct access: the mapped file, the lease on the peer's board, and a place in the
// ring to that peer, which tells the peer what is accessed.
#pragma once

#include "lease_board.hpp"
#include "peer_ring.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/direct_memory.hpp>
#include <cinnabar/na/op.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace cinnabar::shm {

struct Channel;

// A place of a ring, for as long as a mapping uses it.
class DirectPlace {
  public:
    explicit DirectPlace(std::shared_ptr<PeerRing> ring) noexcept : ring_(std::move(ring)), place_(ring_->take()) {}
    ~DirectPlace() {
        if (ring_ && *this) ring_->give_back(place_);
    }
    DirectPlace(DirectPlace&& other) noexcept : ring_(std::move(other.ring_)), place_(other.place_) {}
    DirectPlace& operator=(DirectPlace&&) = delete;

    explicit operator bool() const noexcept { return place_ != PeerRing::no_place; }
    // Announces an access to that slot of the board. False: the session has ended, so the peer may no longer look.
    [[nodiscard]] bool enter(std::uint32_t slot) noexcept {
        RingHeader& header = ring_->header();
        header.accesses[place_].slot.store(std::uint64_t{slot} + 1, std::memory_order_seq_cst);
        return header.ended.load(std::memory_order_seq_cst) == 0;
    }
    void leave() noexcept { ring_->header().accesses[place_].slot.store(0, std::memory_order_release); }

  private:
    std::shared_ptr<PeerRing> ring_;
    unsigned place_;
};

// Where a lease is, as a session has mapped it.
struct MappedLease {
    std::shared_ptr<const Segment> file;
    std::uint64_t position = 0;  // in the file
    std::uint32_t slot = 0;      // of the board
    na::LeaseKey key;
};

// Maps what a lease is of, if the peer's library allocated it (view.cpp). `position` is that of `offset`. The lease is
// held meanwhile only. Errors: as na::Port::view. Owner of the context only.
[[nodiscard]] Result<MappedLease> map_lease(Channel& channel, const na::RemoteMemory& memory, std::uint64_t offset,
                                            std::uint64_t bytes, na::Access want);

class MappedMemory final : public na::DirectMemory {
  public:
    // `offset`: in the lease. `lease.position` is that of the first byte.
    MappedMemory(MappedLease lease, std::uint64_t offset, std::uint64_t bytes, na::Access access, BoardView board,
                 DirectPlace place) noexcept
        : DirectMemory(bytes),
          lease_(std::move(lease)),
          offset_(offset),
          access_(access),
          board_(std::move(board)),
          place_(std::move(place)) {}

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
    DirectPlace place_;
    std::atomic<bool> busy_{false};  // a thread uses the place
};

}  // namespace cinnabar::shm
