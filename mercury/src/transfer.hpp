// SPDX-License-Identifier: BSD-3-Clause
// A bulk transfer in flight: what hg_op_id_t points to.
#pragma once

#include "callback.hpp"
#include "mercury_bulk.h"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <atomic>
#include <mutex>

struct hg_op_id : cinnabar::PoolSlot {
    hg_context* context = nullptr;
    hg_cb_t callback = nullptr;
    hg_cb_info told{};
    cinnabar::mercury::Callback queued;  // where the core moves nothing

    // Whoever starts it and whoever ends it, which may be another thread, hold it.
    std::atomic<int> references{0};
    std::mutex mutex;  // of the three below
    cinnabar::bulk::Transfer* moving = nullptr;
    bool cancel_asked = false;
    bool ended = false;
};
