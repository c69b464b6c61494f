// SPDX-License-Identifier: BSD-3-Clause
#include "context.hpp"

#include "errors.hpp"
#include "log.hpp"

#include <chrono>
#include <utility>

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;

namespace {

constexpr std::uint32_t handles_max = 256 * 1024;
constexpr std::uint32_t transfers_max = 64 * 1024;

thread_local hg_context* destroyed_here = nullptr;

rpc::Options options_of(const hg_class& owner, na::ContextId id) {
    rpc::Options options;
    const na_init_info_4_0& network = owner.network->options;
    const bool single = (network.thread_mode & NA_THREAD_MODE_SINGLE_CTX) != 0;
    options.context.threads = single ? ThreadUse::one : ThreadUse::many;
    options.context.id = id;
    if ((network.progress_mode & NA_NO_BLOCK) != 0) options.context.spin_max = std::chrono::hours(1);
    options.checksums = owner.options.checksum_level != HG_CHECKSUM_NONE;
    // A handler may run for any time, and if no other thread drives the context, there is no progress during that time.
    options.handler_time_max = Microseconds{0};
    options.stall_max = options.result_kept_max = owner.network->info.patience;
    // As in Mercury, a live peer may take any time to respond.
    options.bulk.stall_max = Microseconds{0};
    return options;
}

// Peers reach the first context with an id by that id; further ones get a number that no peer can request.
na::ContextId take_id(na_class& network, std::uint8_t wanted) {
    constexpr std::uint32_t private_ids = 256;
    const std::lock_guard lock(network.mutex);
    std::uint32_t id = wanted;
    if (network.contexts.contains(id)) id = private_ids;
    while (network.contexts.contains(id)) ++id;
    network.contexts.insert(id);
    return static_cast<na::ContextId>(id);
}

void give_id(na_class& network, na::ContextId id) {
    const std::lock_guard lock(network.mutex);
    network.contexts.erase(id);
}

hg_return_t open_context(hg_class& owner, std::uint8_t id, hg_context_t** out) {
    const bool single = (owner.network->options.thread_mode & NA_THREAD_MODE_SINGLE_CTX) != 0;
    auto made = std::make_unique<hg_context>(single ? ThreadUse::one : ThreadUse::many);
    made->owner = &owner;
    made->id = id;
    made->core_id = take_id(*owner.network, id);
    auto opened = owner.engine->open_context(options_of(owner, made->core_id));
    if (!opened) {
        give_id(*owner.network, made->core_id);
        return failed("HG_Context_create", opened.error());
    }
    made->rpc = *std::move(opened);
    made->rpc->user_data = made.get();
    {
        const std::lock_guard lock(owner.contexts_mutex);
        owner.open_contexts.push_back(made.get());
    }
    {
        const std::lock_guard lock(owner.counted_mutex);
        owner.counted.push_back(made.get());
    }
    ++owner.contexts;
    *out = made.release();
    return HG_SUCCESS;
}

// Whether the user still holds handles; references of operations do not count.
bool has_users(hg_context& context) {
    bool any = false;
    context.handles.for_each([&](hg_handle& handle) {
        const int held = (handle.busy.load() ? 1 : 0) + (handle.leaving.load() ? 1 : 0) + (handle.abandoned ? 1 : 0);
        any = any || handle.reference_count() > held;
    });
    return any;
}

}  // namespace

hg_context* mercury::context_destroyed_here() noexcept { return destroyed_here; }

hg_context::hg_context(ThreadUse threads) : handles(threads, handles_max), transfers(threads, transfers_max) {}

hg_context_t* HG_Context_create(hg_class_t* hg_class) { return HG_Context_create_id(hg_class, 0); }

hg_context_t* HG_Context_create_id(hg_class_t* hg_class, uint8_t id) {
    hg_context_t* opened = nullptr;
    if (hg_class) (void)guarded([&] { return open_context(*hg_class, id, &opened); });
    return opened;
}

hg_return_t HG_Context_destroy(hg_context_t* context) {
    if (!context) return HG_SUCCESS;
    if (has_users(*context)) return failed("HG_Context_destroy: destroy all handles first", HG_BUSY);
    context->unposted.store(true, std::memory_order_relaxed);
    {
        const std::lock_guard lock(context->owner->contexts_mutex);
        std::erase(context->owner->open_contexts, context);
    }
    // Sends the responses and one-way calls that wait, and ends all other operations in flight. Their callbacks run
    // here and may still use the context.
    hg_context* const outer = std::exchange(destroyed_here, context);
    delete context->rpc.get();
    (void)context->rpc.release();
    destroyed_here = outer;
    // Handles of requests that were never answered.
    context->handles.for_each([](hg_handle& handle) {
        if (handle.references.load() > 0) mercury::drop(handle);
    });
    {
        const std::lock_guard lock(context->owner->counted_mutex);
        context->add_tallies(context->owner->counted_before);
        std::erase(context->owner->counted, context);
    }
    if (context->data_free) context->data_free(context->data);
    give_id(*context->owner->network, context->core_id);
    --context->owner->contexts;
    delete context;
    return HG_SUCCESS;
}

hg_return_t HG_Context_unpost(hg_context_t* context) {
    if (!context) return HG_INVALID_ARG;
    context->unposted.store(true, std::memory_order_relaxed);
    return HG_SUCCESS;
}

hg_class_t* HG_Context_get_class(const hg_context_t* context) { return context ? context->owner : nullptr; }
uint8_t HG_Context_get_id(const hg_context_t* context) { return context ? context->id : 0; }

hg_return_t HG_Context_set_data(hg_context_t* context, void* data, void (*free_callback)(void*)) {
    if (!context) return HG_INVALID_ARG;
    context->data = data;
    context->data_free = free_callback;
    return HG_SUCCESS;
}
void* HG_Context_get_data(const hg_context_t* context) { return context ? context->data : nullptr; }
