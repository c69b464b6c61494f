// SPDX-License-Identifier: BSD-3-Clause
#include "registration.hpp"

#include "class.hpp"
#include "errors.hpp"
#include "log.hpp"

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;
using mercury::Registration;

namespace cinnabar::mercury {

void Registration::free_data() noexcept {
    void* const freed = data.exchange(nullptr);
    if (data_free) data_free(freed);
    data_free = nullptr;
}

Registration* find(const hg_class& owner, hg_id_t id) noexcept {
    const rpc::Handler* handler = owner.engine->find(id, 0);
    // The engine also has handlers of its own, such as the one for device memory.
    const bool is_registered = handler && handler->run == run_handler;
    return is_registered ? static_cast<Registration*>(handler->target.get()) : nullptr;
}

namespace {

// The same hash as Mercury's: djb2, 32 bits.
hg_id_t hash_of(const char* name) noexcept {
    std::uint32_t hash = 5381;
    for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

void assign(Registration& registration, const Callbacks& callbacks) noexcept {
    registration.in_proc = callbacks.in_proc;
    registration.out_proc = callbacks.out_proc;
    registration.handler = callbacks.handler;
    registration.core_handler = callbacks.core_handler;
}

hg_return_t add(hg_class& owner, hg_id_t id, const Callbacks& callbacks) {
    auto made = std::make_shared<Registration>();
    made->id = id;
    assign(*made, callbacks);
    rpc::Handler handler;
    handler.run = run_handler;
    handler.target = std::move(made);
    const auto named = owner.names.find(id);
    handler.name = named == owner.names.end() ? "RPC " + std::to_string(id) : named->second;
    const auto served = owner.engine->serve(id, 0, std::move(handler));
    return served ? HG_SUCCESS : failed("HG_Register", served.error());
}

}  // namespace

hg_return_t register_id(hg_class& owner, hg_id_t id, const Callbacks& callbacks) noexcept {
    return guarded([&] {
        const std::lock_guard lock(owner.mutex);
        Registration* const known = find(owner, id);
        if (!known) return add(owner, id, callbacks);
        assign(*known, callbacks);
        return HG_SUCCESS;
    });
}

}  // namespace cinnabar::mercury

hg_return_t HG_Register(hg_class_t* hg_class, hg_id_t id, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                        hg_rpc_cb_t rpc_cb) {
    if (!hg_class) return HG_INVALID_ARG;
    return mercury::register_id(*hg_class, id, {in_proc_cb, out_proc_cb, rpc_cb, nullptr});
}

hg_id_t HG_Register_name(hg_class_t* hg_class, const char* func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                         hg_rpc_cb_t rpc_cb) {
    if (!hg_class || !func_name) return 0;
    const hg_id_t id = mercury::hash_of(func_name);
    const hg_return_t named = guarded([&] {
        const std::lock_guard lock(hg_class->mutex);
        const auto [at, added] = hg_class->names.emplace(id, func_name);
        if (added || at->second == func_name) return HG_SUCCESS;
        mercury::log_error("HG_Register_name: \"%s\" and \"%s\" have the same id: rename one", func_name,
                           at->second.c_str());
        return HG_EXIST;
    });
    if (named != HG_SUCCESS) return 0;
    return HG_Register(hg_class, id, in_proc_cb, out_proc_cb, rpc_cb) == HG_SUCCESS ? id : 0;
}

hg_return_t HG_Deregister(hg_class_t* hg_class, hg_id_t id) {
    if (!hg_class) return HG_INVALID_ARG;
    return guarded([&] {
        const std::lock_guard lock(hg_class->mutex);
        Registration* const known = mercury::find(*hg_class, id);
        if (!known) return HG_NOENTRY;
        const Errc withdrawn = hg_class->engine->withdraw(id, 0);
        if (withdrawn != Errc::ok) return mercury::to_hg(withdrawn);
        hg_class->names.erase(id);
        known->free_data();
        return HG_SUCCESS;
    });
}

hg_return_t HG_Registered(hg_class_t* hg_class, hg_id_t id, uint8_t* flag) {
    if (!hg_class || !flag) return HG_INVALID_ARG;
    *flag = mercury::find(*hg_class, id) ? HG_TRUE : HG_FALSE;
    return HG_SUCCESS;
}

hg_return_t HG_Registered_name(hg_class_t* hg_class, const char* func_name, hg_id_t* id, uint8_t* flag) {
    if (!hg_class || !func_name || !flag) return HG_INVALID_ARG;
    const hg_id_t hash = mercury::hash_of(func_name);
    if (id) *id = hash;
    return HG_Registered(hg_class, hash, flag);
}

hg_return_t HG_Registered_proc_cb(hg_class_t* hg_class, hg_id_t id, uint8_t* flag, hg_proc_cb_t* in_proc_cb,
                                  hg_proc_cb_t* out_proc_cb) {
    if (!hg_class || !flag) return HG_INVALID_ARG;
    const Registration* const known = mercury::find(*hg_class, id);
    *flag = known ? HG_TRUE : HG_FALSE;
    if (in_proc_cb) *in_proc_cb = known ? known->in_proc.load() : nullptr;
    if (out_proc_cb) *out_proc_cb = known ? known->out_proc.load() : nullptr;
    return HG_SUCCESS;
}

hg_return_t HG_Register_data(hg_class_t* hg_class, hg_id_t id, void* data, void (*free_callback)(void*)) {
    if (!hg_class) return HG_INVALID_ARG;
    return guarded([&] {
        const std::lock_guard lock(hg_class->mutex);
        Registration* const known = mercury::find(*hg_class, id);
        if (!known) return HG_NOENTRY;
        known->data = data;
        known->data_free = free_callback;
        return HG_SUCCESS;
    });
}

void* HG_Registered_data(hg_class_t* hg_class, hg_id_t id) {
    const Registration* const known = hg_class ? mercury::find(*hg_class, id) : nullptr;
    return known ? known->data.load() : nullptr;
}

hg_return_t HG_Registered_disable_response(hg_class_t* hg_class, hg_id_t id, uint8_t disable) {
    if (!hg_class) return HG_INVALID_ARG;
    Registration* const known = mercury::find(*hg_class, id);
    if (!known) return HG_NOENTRY;
    known->one_way.store(disable != 0, std::memory_order_relaxed);
    return HG_SUCCESS;
}

hg_return_t HG_Registered_disabled_response(hg_class_t* hg_class, hg_id_t id, uint8_t* disabled) {
    if (!hg_class || !disabled) return HG_INVALID_ARG;
    const Registration* const known = mercury::find(*hg_class, id);
    if (!known) return HG_NOENTRY;
    *disabled = known->one_way.load(std::memory_order_relaxed) ? HG_TRUE : HG_FALSE;
    return HG_SUCCESS;
}
