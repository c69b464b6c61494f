// SPDX-License-Identifier: BSD-3-Clause
// An HG context: an rpc context, the pools of its operations, and the numbers of objects that must be freed before
// HG_Context_destroy.
#pragma once

#include "class.hpp"
#include "handle.hpp"
#include "transfer.hpp"

#include <cinnabar/rpc/context.hpp>

#include <array>
#include <atomic>
#include <cstdint>
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

    explicit hg_context(cinnabar::ThreadUse threads);
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

// Runs the create callbacks of the handle's class and context. If one fails, frees the handle and returns its value.
[[nodiscard]] hg_return_t tell_created(hg_handle& handle) noexcept;

// Makes a handle of the context with this reference count. Null, with `why`: too many handles, or a create callback
// failed. Inlined, because each request at the target makes one.
[[nodiscard, gnu::always_inline]] inline hg_handle* take_handle(hg_context& context, std::int32_t references,
                                                                hg_return_t& why) noexcept {
    hg_handle* const handle = spare_handle.acquire(context.handles);
    why = HG_AGAIN;
    if (!handle) [[unlikely]]
        return nullptr;
    hg_class& owner = *context.owner;
    handle->info = {&owner, &context, nullptr, 0, 0};
    handle->registration = nullptr;
    handle->one_way = handle->abandoned = false;
    handle->input_bytes = handle->output_bytes = 0;
    handle->busy.store(false, std::memory_order_relaxed);
    handle->leaving.store(false, std::memory_order_relaxed);
    handle->references.store(references, std::memory_order_relaxed);
    why = HG_SUCCESS;
    if (!owner.handle_created && !context.core_handle_created) return handle;
    why = tell_created(*handle);
    return why == HG_SUCCESS ? handle : nullptr;
}

// The context whose destruction runs callbacks in this thread. Null: none.
[[nodiscard]] hg_context* context_destroyed_here() noexcept;

}  // namespace cinnabar::mercury
