// SPDX-License-Identifier: BSD-3-Clause
// Leases for peers that copy across address spaces: a table in shared memory with one slot a lease, which says where
// the lease's bytes are and how many pins it has. A peer adds a pin by compare-and-swap, unless the slot is closed, and
// removes it after the system call. The owner closes the slot and then waits for the pins to go.
//
// The board protects only against honest mistakes: a process that may copy across address spaces needs no lease to do
// so.
#pragma once

#include "segment.hpp"
#include "shared_memory.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/pending_fences.hpp>

#include <atomic>
#include <memory>

namespace cinnabar::shm {

// 64 bytes of shared memory; docs/wire-format-shm.md, "Lease board".
struct BoardSlot {
    static constexpr std::uint32_t closed = 0x8000'0000;

    std::atomic<std::uint32_t> pins;  // closed | count
    std::uint32_t access;
    std::atomic<std::uint64_t> key;
    std::uint64_t bytes;    // of the lease
    std::uint64_t address;  // of its first byte; of an array of BoardPiece if `pieces` is not 0
    std::uint64_t offset;   // of the lease within that array, or within the file
    std::uint64_t name;     // slot | generation << 32 of the LeaseKey
    std::uint32_t pieces;
    std::uint32_t file;    // FilePlace::file, of memory that peers can map; else 0
    std::uint64_t serial;  // of that file
};
static_assert(sizeof(BoardSlot) == 64);

// A segment of a registration that has several: its address, and the sum of all sizes up to its end. In the owner's
// memory, read across address spaces.
struct BoardPiece {
    std::uint64_t address = 0;
    std::uint64_t end = 0;
};

// The owner's side. Any thread.
class LeaseBoard {
  public:
    static constexpr std::uint32_t slots_max = 64 * 1024;
    static constexpr std::uint32_t no_slot = 0xffff'ffff;

    LeaseBoard() : places_(Threads::many, slots_max) {}

    // Makes the shared memory, a smaller one if the size of files is limited. unsupported, out_of_memory, overloaded.
    [[nodiscard]] Errc open() noexcept;
    [[nodiscard]] std::uint32_t slots() const noexcept {
        return static_cast<std::uint32_t>(segment_.bytes() / sizeof(BoardSlot));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    // Puts a lease on the board. no_slot when all slots are taken: peers then ask the owner. `pieces`: the segments, if
    // there are several; they must live until the slot is given back. `place`: of a single segment.
    [[nodiscard]] std::uint32_t show(const na::Lease& lease, const BoardPiece* pieces, std::size_t count,
                                     const FilePlace& place) noexcept;
    // No new access can begin.
    void close(std::uint32_t slot) noexcept;
    [[nodiscard]] bool pinned(std::uint32_t slot) const noexcept;
    // Frees a closed slot for another lease. Pins that it still has are those of dead processes.
    void give_back(std::uint32_t slot) noexcept;
    [[nodiscard]] na::PendingFence& fence_of(std::uint32_t slot) noexcept { return places_.at(slot)->fence; }

  private:
    struct Place : PoolSlot {
        na::PendingFence fence;
    };
    [[nodiscard]] BoardSlot& at(std::uint32_t slot) const noexcept {
        return reinterpret_cast<BoardSlot*>(segment_.base())[slot];
    }
    Segment segment_;
    UniqueFd fd_;
    SlotPool<Place> places_;
};

// A peer's board, mapped here. Its content is untrusted, but can only name memory of that peer.
class BoardView {
  public:
    [[nodiscard]] Errc attach(int fd, std::uint32_t slots) noexcept;
    [[nodiscard]] const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }
    // Whether a lease that was pinned before is still granted. If so, what was read before the call is valid.
    [[nodiscard]] static bool stands(const Segment& board, std::uint32_t slot, const na::LeaseKey& key) noexcept;

    // What an access needs to know, copied out of the slot.
    struct Pinned {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint32_t pieces = 0;
        std::uint32_t file = 0;
        std::uint64_t serial = 0;
    };
    // Pins the slot for one system call. permission: closed, another key, not that access; too_large: out of bounds.
    // Requires: nothing is pinned through this view.
    [[nodiscard]] Errc pin(std::uint32_t slot, const na::LeaseKey& key, std::uint64_t offset, std::uint64_t bytes,
                           na::Access want, Pinned& out) noexcept;
    void unpin(std::uint32_t slot) noexcept;

  private:
    std::shared_ptr<const Segment> segment_;  // shared with views
    std::uint32_t slots_ = 0;
};

}  // namespace cinnabar::shm
