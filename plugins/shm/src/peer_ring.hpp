// SPDX-License-Identifier: BSD-3-Clause
// The ring that this side writes into, and what the header of a ring says of direct accesses. The mappings for direct
// access keep the ring for longer than the session lasts; each has one of its places.
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
    std::uint64_t left = ring.places.load(std::memory_order_seq_cst);
    for (unsigned place = 0; place < direct_places && left != 0; ++place, left >>= 1) {
        if ((left & 1) == 0) continue;
        const std::uint64_t slot = ring.accesses[place].slot.load(std::memory_order_seq_cst);
        if (slot != 0 && found(slot)) return true;
    }
    return false;
}
[[nodiscard]] inline bool accesses_directly(const RingHeader& ring) noexcept {
    return find_direct(ring, [](std::uint64_t) noexcept { return true; });
}

struct PeerRing {
    static constexpr unsigned no_place = ~0U;

    Segment memory;

    [[nodiscard]] RingHeader& header() const noexcept { return *reinterpret_cast<RingHeader*>(memory.base()); }

    // Takes a place; no_place: all are in use. Owner of the context only. The peer is told which places to look at; it
    // could change that, so what is taken is known here.
    [[nodiscard]] unsigned take() noexcept {
        const std::uint64_t taken = taken_.load(std::memory_order_acquire);
        const auto place = static_cast<unsigned>(std::countr_one(taken));
        if (place >= direct_places) return no_place;
        const std::uint64_t bit = std::uint64_t{1} << place;
        taken_.fetch_or(bit, std::memory_order_relaxed);
        header().places.fetch_or(bit, std::memory_order_seq_cst);
        return place;
    }
    // Any thread. Requires: nothing is accessed by this place.
    void give_back(unsigned place) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << place;
        header().places.fetch_and(~bit, std::memory_order_seq_cst);
        taken_.fetch_and(~bit, std::memory_order_release);
    }

  private:
    std::atomic<std::uint64_t> taken_{0};
};

}  // namespace cinnabar::shm
