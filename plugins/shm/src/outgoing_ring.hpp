// SPDX-License-Identifier: BSD-3-Clause
// OutgoingRing: the memory of the ring that this side writes and the peer reads. The session writes it through its
// RingWriter (ring.hpp); session_send.cpp decides in which order. Mappings for direct access share the memory and may
// outlive the session; each mapping has one direct slot of the ring. The incoming ring, which the peer writes, is a
// Segment of the Channel; the session reads it through its RingReader (session.cpp).
#pragma once

#include "ring.hpp"
#include "segment.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace cinnabar::shm {

struct OutgoingRing {
    static constexpr unsigned no_slot = ~0U;

    Segment memory;

    [[nodiscard]] RingHeader& header() const noexcept { return *reinterpret_cast<RingHeader*>(memory.base()); }

    // Takes a direct slot; no_slot: all are in use. Owner of the context only. The ring's header tells the peer which
    // slots are taken, but the peer can change the header, so taken_ decides.
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
