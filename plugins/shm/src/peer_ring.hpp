// SPDX-License-Identifier: BSD-3-Clause
// The ring of the peer, which this side writes into (the own one, which it reads, is in ring.hpp), and what the header
// of a ring says of direct accesses. The mappings for direct access keep the ring for longer than the session lasts;
// each has one of its direct slots.
#pragma once

#include "ring.hpp"
#include "segment.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace cinnabar::shm {

// Calls `found` with each slot of the board + 1 that the ring's writer accesses directly, until it returns true.
// Returns whether it did.
template <typename Found>
[[nodiscard]] bool find_direct(const RingHeader& ring, const Found& found) noexcept {
    std::uint64_t left = ring.mapped_slots.load(std::memory_order_seq_cst);
    for (unsigned direct = 0; direct < direct_slots && left != 0; ++direct, left >>= 1) {
        if ((left & 1) == 0) continue;
        const std::uint64_t slot = ring.accesses[direct].slot.load(std::memory_order_seq_cst);
        if (slot != 0 && found(slot)) return true;
    }
    return false;
}
[[nodiscard]] inline bool accesses_directly(const RingHeader& ring) noexcept {
    return find_direct(ring, [](std::uint64_t) noexcept { return true; });
}

struct PeerRing {
    static constexpr unsigned no_slot = ~0U;

    Segment memory;

    [[nodiscard]] RingHeader& header() const noexcept { return *reinterpret_cast<RingHeader*>(memory.base()); }

    // Takes a direct slot; no_slot: all are in use. Owner of the context only. The peer is told which of them to look
    // at; it could change that, so what is taken is known here.
    [[nodiscard]] unsigned take() noexcept {
        const std::uint64_t taken = taken_.load(std::memory_order_acquire);
        const auto slot = static_cast<unsigned>(std::countr_one(taken));
        if (slot >= direct_slots) return no_slot;
        const std::uint64_t bit = std::uint64_t{1} << slot;
        taken_.fetch_or(bit, std::memory_order_relaxed);
        header().mapped_slots.fetch_or(bit, std::memory_order_seq_cst);
        return slot;
    }
    // Any thread. Requires: nothing is accessed by this slot.
    void give_back(unsigned slot) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << slot;
        header().mapped_slots.fetch_and(~bit, std::memory_order_seq_cst);
        taken_.fetch_and(~bit, std::memory_order_release);
    }

  private:
    std::atomic<std::uint64_t> taken_{0};
};

}  // namespace cinnabar::shm
