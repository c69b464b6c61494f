// SPDX-License-Identifier: BSD-3-Clause
// The lease board: a table in shared memory for peers that copy across address spaces. It has one slot per lease, which
// tells where the leased bytes are, and counts the pins of the lease. A peer adds a pin by compare-and-swap, unless the
// slot is closed, and removes it after its system call. To revoke a lease, the owner closes the slot and waits until no
// pin is left.
//
// The board protects against mistakes, not against attacks: a process that may copy across address spaces could access
// the memory without a lease.
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

    std::atomic<std::uint32_t> pins;  // closed | the number of pins
    std::uint32_t access;
    std::atomic<std::uint64_t> key;
    std::uint64_t bytes;    // of the lease
    std::uint64_t address;  // of the lease's first byte; if `pieces` is not 0, of an array of BoardPiece
    std::uint64_t offset;   // where the lease begins within the pieces, or within the file
    std::uint64_t name;     // slot | generation << 32, from the LeaseKey
    std::uint32_t pieces;
    std::uint32_t file;    // FilePosition::file if peers can map the memory; otherwise 0
    std::uint64_t serial;  // of that file
};
static_assert(sizeof(BoardSlot) == 64);

// One segment of a registration that has several: its address, and the total size of the segments up to and including
// this one. Stored in the owner's memory; peers read it across address spaces.
struct BoardPiece {
    std::uint64_t address = 0;
    std::uint64_t end = 0;
};

// The owner's side. Any thread.
class LeaseBoard {
  public:
    static constexpr std::uint32_t slots_max = 64 * 1024;
    static constexpr std::uint32_t no_slot = 0xffff'ffff;

    LeaseBoard() : leases_(ThreadUse::many, slots_max) {}

    // Creates the shared memory; it has fewer slots if the size of files is limited (RLIMIT_FSIZE). unsupported,
    // out_of_memory, overloaded.
    [[nodiscard]] Errc open() noexcept;
    [[nodiscard]] std::uint32_t slots() const noexcept {
        return static_cast<std::uint32_t>(segment_.bytes() / sizeof(BoardSlot));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    // Puts a lease on the board, and returns its slot. no_slot: all are taken; peers then send requests to the owner.
    // `pieces`: the segments, if there are several; they must live until the slot is given back. `position`: where the
    // memory is in a file that peers can map, if it is in such a file.
    [[nodiscard]] std::uint32_t show(const na::Lease& lease, const BoardPiece* pieces, std::size_t count,
                                     const FilePosition& position) noexcept;
    // Closes the slot: no new access begins.
    void close(std::uint32_t slot) noexcept;
    [[nodiscard]] bool pinned(std::uint32_t slot) const noexcept;
    // Frees a closed slot for another lease. If it still has pins, they are those of dead processes.
    void give_back(std::uint32_t slot) noexcept;
    [[nodiscard]] na::PendingFence& fence_of(std::uint32_t slot) noexcept { return leases_.at(slot)->fence; }

  private:
    struct LeaseSlot : PoolSlot {
        na::PendingFence fence;
    };
    [[nodiscard]] BoardSlot& at(std::uint32_t slot) const noexcept {
        return reinterpret_cast<BoardSlot*>(segment_.base())[slot];
    }
    Segment segment_;
    UniqueFd fd_;
    SlotPool<LeaseSlot> leases_;
};

// A peer's board, mapped here. Its content is untrusted, but can only name memory of that peer.
class BoardView {
  public:
    [[nodiscard]] Errc attach(int fd, std::uint32_t slots) noexcept;
    [[nodiscard]] const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }
    // Whether a lease is still granted. If so, what the caller read before this call is valid.
    [[nodiscard]] static bool stands(const Segment& board, std::uint32_t slot, const na::LeaseKey& key) noexcept;

    // The data of a pinned slot that an access needs, copied out of the slot.
    struct Pinned {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint32_t pieces = 0;
        std::uint32_t file = 0;
        std::uint64_t serial = 0;
    };
    // Pins the slot for one system call or direct access. permission: the slot is closed, or the key or the access does
    // not match; too_large: out of bounds.
    [[nodiscard]] Errc pin(std::uint32_t slot, const na::LeaseKey& key, std::uint64_t offset, std::uint64_t bytes,
                           na::Access want, Pinned& out) noexcept;
    // Returns whether the lease is still granted; if so, what was read under the pin is valid.
    bool unpin(std::uint32_t slot) noexcept;

  private:
    std::shared_ptr<const Segment> segment_;  // shared with views
    std::uint32_t slots_ = 0;
};

}  // namespace cinnabar::shm
