// SPDX-License-Identifier: BSD-3-Clause
// A bulk transfer in flight. Its hg_op_id_t is its address, combined with the number of times that its slot was used,
// which is in the bits that the address leaves free: 8 low ones because of the alignment, and 16 above the 48 bits of a
// Linux process. So a late cancel does not reach any of the next 16,777,215 transfers in the same slot.
#pragma once

#include "callback.hpp"
#include "mercury_bulk.h"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

struct alignas(256) hg_op_id : cinnabar::PoolSlot {
    hg_context* context = nullptr;
    hg_cb_t callback = nullptr;
    hg_cb_info told{};
    hg_bulk_t original = nullptr;        // held until the end if the local handle was decoded (bulk.hpp)
    cinnabar::mercury::Callback queued;  // for transfers without the core's Mover, such as local copies

    // Held by the starting code and by the completion, which may run on another thread.
    std::atomic<int> references{0};
    std::mutex mutex;  // guards the four below
    std::uintptr_t use = 0;
    cinnabar::bulk::Transfer* moving = nullptr;
    bool cancel_asked = false;
    bool ended = false;

    static constexpr unsigned address_bits = 48;
    static constexpr unsigned low_bits = 8;
    static constexpr std::uintptr_t low_mask = (std::uintptr_t{1} << low_bits) - 1;
    static constexpr std::uintptr_t address_mask = ((std::uintptr_t{1} << address_bits) - 1) & ~low_mask;

    [[nodiscard]] hg_op_id_t id() noexcept {
        const auto place = reinterpret_cast<std::uintptr_t>(this);
        CINNABAR_ASSERT((place & ~address_mask) == 0);
        return reinterpret_cast<hg_op_id_t>(place | (use & low_mask) | use >> low_bits << address_bits);
    }
    [[nodiscard]] static hg_op_id& of(hg_op_id_t id) noexcept {
        return *reinterpret_cast<hg_op_id*>(reinterpret_cast<std::uintptr_t>(id) & address_mask);
    }
};
static_assert(sizeof(std::uintptr_t) == 8 && alignof(hg_op_id) == std::size_t{1} << hg_op_id::low_bits);
