// SPDX-License-Identifier: BSD-3-Clause
#include "handle.hpp"

#include "context.hpp"
#include "errors.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

using namespace cinnabar;

namespace cinnabar::mercury {

// The attribute must be repeated here (na/src/context.cpp).
[[gnu::tls_model("initial-exec")]] constinit thread_local SpareSlot<hg_handle> spare_handle;

namespace {

void release_call(hg_handle& handle) noexcept {
    handle.call_id.store(0, std::memory_order_relaxed);
    handle.forwarded = false;
    if (rpc::Call* last = std::exchange(handle.call, nullptr)) last->release();
}

void free_handle(hg_handle& handle) noexcept {
    hg_context& context = *handle.info.context;
    if (handle.abandoned) {
        const std::lock_guard lock(context.abandoned_mutex);
        std::ranges::replace(context.abandoned, &handle, nullptr);
    }
    release_more(handle);
    if (handle.call) release_call(handle);  // otherwise nothing was forwarded
    if (rpc::Request* const last = handle.request) {
        handle.tally.add(Tally::requests_over);
        handle.request = nullptr;
        last->release();
    }
    if (handle.data_free) handle.data_free(handle.data);
    if (!handle.target.empty()) handle.target = {};
    handle.data = nullptr;
    handle.data_free = nullptr;
    spare_handle.release(context.handles, handle);
}

// Keeps the last few abandoned handles, because Mercury programs may drop one more reference of such a handle.
void keep_abandoned(hg_handle& handle) noexcept {
    hg_context& context = *handle.info.context;
    hg_handle* oldest = nullptr;
    {
        const std::lock_guard lock(context.abandoned_mutex);
        handle.abandoned = true;
        handle.references.fetch_or(hg_handle::listed, std::memory_order_relaxed);
        oldest = std::exchange(context.abandoned[context.abandoned_next++ % context.abandoned.size()], &handle);
        std::int32_t last = 1 + hg_handle::listed;
        if (oldest && !oldest->references.compare_exchange_strong(last, 0))
            oldest = nullptr;  // just dropped by the user
        if (oldest) oldest->abandoned = false;
    }
    if (oldest) free_handle(*oldest);
}

// The handler has dropped the handle without a response. Answers now, because otherwise the origin would wait, and
// drops the reference that the calling thread holds.
[[gnu::cold, gnu::noinline]] void abandon(hg_handle& handle) noexcept {
    handle.busy.store(false, std::memory_order_relaxed);
    rpc::Request& request = *std::exchange(handle.request, nullptr);
    request.respond_error(Errc::canceled);
    request.release();
    handle.tally.add(Tally::requests_over);
    if (handle.reference_count() > 1) keep_abandoned(handle);
    drop(handle);
}

// Drops a reference when it may be the last one, or when several threads drop references at the same time.
[[gnu::cold, gnu::noinline]] void drop_with_care(hg_handle& handle, std::int32_t whose) noexcept {
    std::int32_t seen = handle.references.load(std::memory_order_relaxed);
    for (;;) {
        const std::int32_t left = seen - whose - 1;
        // Abandoned: a response is pending, but no holder of the handle can respond; at most the response's own
        // reference is left. abandon() then answers, and this thread holds a reference until abandon() has answered.
        const bool abandoned = (left & ~1) == hg_handle::response_pending;
        const bool last = left == 0 || left == hg_handle::listed;
        const std::int32_t next = abandoned ? left + 1 - hg_handle::response_pending : last ? 0 : left;
        if (!handle.references.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) continue;
        if (abandoned) [[unlikely]]
            return abandon(handle);
        if (last) free_handle(handle);
        return;
    }
}

hg_return_t set_target(hg_handle& handle, hg_addr_t addr, hg_id_t id) noexcept {
    if (addr && addr->owner != handle.info.hg_class) {
        return failed("HG_Create, HG_Reset: an address of another class", HG_INVALID_ARG);
    }
    if (id != 0) {
        Registration* const known = find(*handle.info.hg_class, id);
        if (!known) return HG_NOENTRY;
        handle.registration = known;
        handle.info.id = id;
        handle.one_way = known->one_way.load(std::memory_order_relaxed);
    }
    if (addr && !(handle.peer.addr == addr->addr)) {
        handle.peer.addr = addr->addr;
        handle.target = {};
    }
    if (addr) {
        handle.peer.owner = handle.info.hg_class;
    } else {
        handle.peer.addr = {};
        handle.target = {};
    }
    handle.info.addr = addr ? &handle.peer : nullptr;
    return HG_SUCCESS;
}

}  // namespace

hg_return_t tell_created(hg_handle& handle) noexcept {
    const hg_context& context = *handle.info.context;
    const hg_class& owner = *context.owner;
    hg_return_t why = owner.handle_created ? owner.handle_created(&handle, owner.handle_created_arg) : HG_SUCCESS;
    if (why == HG_SUCCESS && context.core_handle_created) {
        why = context.core_handle_created(reinterpret_cast<hg_core_handle_t>(&handle), context.core_handle_created_arg);
    }
    if (why == HG_SUCCESS) return HG_SUCCESS;
    handle.references.store(0, std::memory_order_relaxed);
    free_handle(handle);
    return why;
}

void drop_one_of_last(hg_handle& handle, std::int32_t whose) noexcept {
    std::int32_t seen = handle.references.load(std::memory_order_acquire);
    const std::int32_t left = seen - whose - 1;
    // The last reference: nobody else can use the handle or take a new reference.
    if (left == 0) {
        handle.references.store(0, std::memory_order_relaxed);
        return free_handle(handle);
    }
    const bool others_stay = (left & ~1) != hg_handle::response_pending && left != hg_handle::listed;
    if (!others_stay || !handle.references.compare_exchange_strong(seen, left, std::memory_order_acq_rel)) {
        drop_with_care(handle, whose);
    }
}

hg_return_t prepare_call(hg_handle& handle) noexcept {
    if (handle.call && !handle.forwarded) return HG_SUCCESS;
    if (!handle.info.addr || !handle.registration) return HG_INVALID_ARG;
    if (handle.target.empty()) {
        const na::Addr& peer = handle.peer.addr;
        const hg_return_t made = guarded([&] {
            handle.target =
                handle.info.context_id == peer.body().context ? peer : peer.with_context(handle.info.context_id);
            return HG_SUCCESS;
        });
        if (made != HG_SUCCESS) return made;
    }
    rpc::Context& context = *handle.info.context->rpc;
    Errc why = Errc::ok;
    handle.call_id.store(0, std::memory_order_relaxed);
    handle.forwarded = false;
    rpc::Call* const last = std::exchange(handle.call, nullptr);
    handle.call =
        last ? context.make_call_in_place_of(*last, handle.target, why) : context.make_call(handle.target, why);
    return to_hg(why);
}

}  // namespace cinnabar::mercury

hg_return_t HG_Create(hg_context_t* context, hg_addr_t addr, hg_id_t id, hg_handle_t* handle) {
    if (!context || !handle) return HG_INVALID_ARG;
    hg_return_t why = HG_SUCCESS;
    hg_handle* const made = mercury::take_handle(*context, 1, why);
    if (!made) return why;
    why = HG_Reset(made, addr, id);
    if (why != HG_SUCCESS) {
        mercury::drop(*made);
        return why;
    }
    *handle = made;
    return HG_SUCCESS;
}

hg_return_t HG_Destroy(hg_handle_t handle) {
    if (handle) mercury::drop(*handle);
    return HG_SUCCESS;
}

hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id) {
    if (!handle) return HG_INVALID_ARG;
    if (handle->busy.load(std::memory_order_acquire) || handle->request) return HG_BUSY;
    mercury::release_more(*handle);
    mercury::release_call(*handle);
    if (handle->info.context_id != 0) handle->target = {};
    handle->info.context_id = 0;
    handle->input_bytes = handle->output_bytes = 0;
    return mercury::set_target(*handle, addr, id);
}

hg_return_t HG_Ref_incr(hg_handle_t handle) {
    if (!handle) return HG_INVALID_ARG;
    handle->references.fetch_add(1, std::memory_order_relaxed);
    return HG_SUCCESS;
}

int32_t HG_Ref_get(hg_handle_t handle) { return handle ? handle->reference_count() : -1; }

const struct hg_info* HG_Get_info(hg_handle_t handle) { return handle ? &handle->info : nullptr; }

hg_return_t HG_Set_data(hg_handle_t handle, void* data, void (*free_callback)(void*)) {
    if (!handle) return HG_INVALID_ARG;
    handle->data = data;
    handle->data_free = free_callback;
    return HG_SUCCESS;
}
void* HG_Get_data(hg_handle_t handle) { return handle ? handle->data : nullptr; }

hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id) {
    if (!handle) return HG_INVALID_ARG;
    if (handle->busy.load(std::memory_order_acquire) || handle->request) return HG_BUSY;
    if (handle->info.context_id == id) return HG_SUCCESS;
    handle->info.context_id = id;
    handle->target = {};
    if (!handle->call || handle->forwarded) return HG_SUCCESS;
    // Makes a new call, for the new target, and copies to it the bytes that the user has written to the old call. If
    // the new target's network has less room in a message, forward() refuses bytes that do not fit.
    rpc::Call* const written = std::exchange(handle->call, nullptr);
    const hg_return_t made = mercury::prepare_call(*handle);
    if (made == HG_SUCCESS) {
        const ConstBytes bytes = written->input_room();
        const Bytes room = handle->call->input_room();
        std::ranges::copy(bytes.first(std::min(bytes.size(), room.size())), room.begin());
    }
    written->release();
    return made;
}
