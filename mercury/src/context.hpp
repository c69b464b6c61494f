// SPDX-License-Identifier: BSD-3-Clause
// An HG context: an rpc context, the pools of its operations, and counts of the objects that must be freed before
// HG_Context_destroy.
#pragma once

#include "class.hpp"
#include "handle.hpp"
#include "transfer.hpp"

#include <cinnabar/rpc/context.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

struct hg_context {
    hg_class* owner = nullptr;
    std::unique_ptr<cinnabar::rpc::Context> rpc;
    std::uint8_t id = 0;                  // given by the user
    cinnabar::na::ContextId core_id = 0;  // the same, or another number if a context with that id exists
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;
    hg_return_t (*core_handle_created)(hg_core_handle_t, void*) = nullptr;
    void* core_handle_created_arg = nullptr;
    std::atomic<bool> unposted{false};
    std::mutex abandoned_mutex;  // guards the two below
    std::array<hg_handle*, 64> abandoned{};
    std::size_t abandoned_next = 0;
    cinnabar::SlotPool<hg_handle> handles;
    cinnabar::SlotPool<hg_op_id> transfers;

    explicit hg_context(cinnabar::Threads threads);
    // Adds the counts of its handles to `to`. Any thread.
    void add_tallies(cinnabar::mercury::Tallies& to) noexcept {
        handles.for_each([&to](const hg_handle& handle) {
            for (unsigned i = 0; i < to.size(); ++i) to[i] += handle.tally[i];
        });
    }
    // The deadline of calls and transfers that start now.
    [[nodiscard]] cinnabar::TimeUs deadline() const noexcept {
        const cinnabar::Microseconds span = owner->network->info.deadline;
        return span == cinnabar::Microseconds::max() ? cinnabar::time_never : rpc->deadline_in(span);
    }
};

namespace cinnabar::mercury {

// The context whose destruction runs callbacks in this thread. Null: none.
[[nodiscard]] hg_context* context_destroyed_here() noexcept;

}  // namespace cinnabar::mercury
