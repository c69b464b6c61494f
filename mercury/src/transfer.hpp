// SPDX-License-Identifier: BSD-3-Clause
// A bulk transfer in flight. hg_op_id_t is its place and, in the low bits that alignment leaves free, how often the
// place was used: a cancel that comes too late is told from one for the next transfer there.
#pragma once

#include "callback.hpp"
#include "mercury_bulk.h"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

struct alignas(64) hg_op_id : cinnabar::PoolSlot {
    hg_context* context = nullptr;
    hg_cb_t callback = nullptr;
    hg_cb_info told{};
    cinnabar::mercury::Callback queued;  // where the core moves nothing

    // Whoever starts it and whoever ends it, which may be another thread, hold it.
    std::atomic<int> references{0};
    std::mutex mutex;  // of the four below
    std::uintptr_t use = 0;
    cinnabar::bulk::Transfer* moving = nullptr;
    bool cancel_asked = false;
    bool ended = false;

    static constexpr std::uintptr_t uses = 64;
    [[nodiscard]] hg_op_id_t id() noexcept {
        return reinterpret_cast<hg_op_id_t>(reinterpret_cast<std::uintptr_t>(this) | use % uses);
    }
    [[nodiscard]] static hg_op_id& of(hg_op_id_t id) noexcept {
        return *reinterpret_cast<hg_op_id*>(reinterpret_cast<std::uintptr_t>(id) & ~(uses - 1));
    }
};
