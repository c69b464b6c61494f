// SPDX-License-Identifier: BSD-3-Clause
#include "lease_board.hpp"

#include "full_barrier.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/same_secret.hpp>

#include <new>
#include <utility>

namespace cinnabar::shm {
namespace {

std::uint64_t name_of(const na::LeaseKey& key) noexcept { return std::uint64_t{key.generation} << 32 | key.slot; }

// The number of slots if the size of files is limited (ulimit -f).
constexpr std::uint32_t slots_few = 1024;

}  // namespace

// Pages of unused slots are never touched and cost nothing.
Errc LeaseBoard::open() noexcept {
    const Errc made = Segment::make("cinnabar-leases", sizeof(BoardSlot) * slots_max, segment_, fd_);
    if (made != Errc::out_of_memory) return made;
    return Segment::make("cinnabar-leases", sizeof(BoardSlot) * slots_few, segment_, fd_);
}

std::uint32_t LeaseBoard::show(const na::Lease& lease, const BoardPiece* pieces, std::size_t count,
                               const FilePosition& position) noexcept {
    LeaseSlot* own = leases_.acquire();
    if (!own) return no_slot;
    if (own->slot_index >= slots()) {
        leases_.release(*own);
        return no_slot;
    }
    BoardSlot& slot = at(own->slot_index);
    slot.access = static_cast<std::uint32_t>(lease.access);
    slot.bytes = lease.bytes;
    slot.pieces = static_cast<std::uint32_t>(count);
    if (count != 0) {
        slot.address = reinterpret_cast<std::uintptr_t>(pieces);
        slot.offset = lease.offset;
    } else {
        const auto segments = lease.memory->segments();
        const std::byte* base = segments.empty() ? nullptr : segments.front().base;
        slot.address = reinterpret_cast<std::uintptr_t>(base) + lease.offset;
        slot.offset = position.position + lease.offset;
    }
    slot.file = count != 0 ? 0 : position.file;
    slot.serial = position.serial;
    slot.name = name_of({lease.slot, lease.generation, lease.key});
    slot.key.store(lease.key, std::memory_order_relaxed);
    slot.pins.store(0, std::memory_order_release);
    return own->slot_index;
}

void LeaseBoard::close(std::uint32_t slot) noexcept {
    (void)at(slot).pins.fetch_or(BoardSlot::closed, std::memory_order_seq_cst);
}

bool LeaseBoard::pinned(std::uint32_t slot) const noexcept {
    return (at(slot).pins.load(std::memory_order_seq_cst) & ~BoardSlot::closed) != 0;
}

void LeaseBoard::give_back(std::uint32_t slot) noexcept {
    at(slot).key.store(0, std::memory_order_relaxed);
    at(slot).pins.store(BoardSlot::closed, std::memory_order_release);
    LeaseSlot* own = leases_.at(slot);
    CINNABAR_ASSERT(own);
    leases_.release(*own);
}

Errc BoardView::attach(int fd, std::uint32_t slots) noexcept {
    slots_ = slots;
    Segment segment;
    if (const Errc why = Segment::attach(fd, sizeof(BoardSlot) * slots, segment); why != Errc::ok) return why;
    try {
        segment_ = std::make_shared<const Segment>(std::move(segment));
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    return Errc::ok;
}

bool BoardView::stands(const Segment& board, std::uint32_t slot, const na::LeaseKey& key) noexcept {
    const BoardSlot& shared = reinterpret_cast<const BoardSlot*>(board.base())[slot];
    full_barrier();  // must follow the caller's reads
    return (shared.pins.load(std::memory_order_relaxed) & BoardSlot::closed) == 0 &&
           shared.key.load(std::memory_order_relaxed) == key.key;
}

Errc BoardView::pin(std::uint32_t slot, const na::LeaseKey& key, std::uint64_t offset, std::uint64_t bytes,
                    na::Access want, Pinned& out) noexcept {
    if (!segment_ || slot >= slots_ || key.key == 0) return Errc::permission;
    BoardSlot& shared = reinterpret_cast<BoardSlot*>(segment_->base())[slot];
    std::uint32_t pins = shared.pins.load(std::memory_order_relaxed);
    do {
        if ((pins & BoardSlot::closed) != 0) return Errc::permission;
    } while (!shared.pins.compare_exchange_weak(pins, pins + 1, std::memory_order_seq_cst, std::memory_order_relaxed));
    // The owner does not change a slot while it is pinned.
    const std::uint64_t lease_bytes = shared.bytes;
    const auto access = static_cast<na::Access>(shared.access & 3);
    Errc why = Errc::ok;
    if (!same_secret(shared.key.load(std::memory_order_relaxed), key.key) || shared.name != name_of(key) ||
        !na::allows(access, want)) {
        why = Errc::permission;
    } else if (offset > lease_bytes || bytes > lease_bytes - offset) {
        why = Errc::too_large;
    }
    out = {shared.address, shared.offset, shared.pieces, shared.file, shared.serial};
    if (why != Errc::ok) (void)unpin(slot);
    return why;
}

bool BoardView::unpin(std::uint32_t slot) noexcept {
    BoardSlot& shared = reinterpret_cast<BoardSlot*>(segment_->base())[slot];
    return (shared.pins.fetch_sub(1, std::memory_order_seq_cst) & BoardSlot::closed) == 0;
}

}  // namespace cinnabar::shm
