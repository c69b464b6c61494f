// SPDX-License-Identifier: BSD-3-Clause
// Implements HG_Core's addresses and handles.
#include "core_objects.hpp"
#include "errors.hpp"

#include <algorithm>
#include <memory>

using namespace cinnabar;
using mercury::core;
using mercury::hg;

namespace {

struct Lookup {
    hg_core_cb_t callback;
    void* arg;
};

// Converts HG's callback information to HG_Core's.
hg_return_t tell(const hg_cb_info* found) {
    const std::unique_ptr<Lookup> lookup(static_cast<Lookup*>(found->arg));
    hg_core_cb_info told{};
    told.info.lookup.addr = core(found->info.lookup.addr);
    told.arg = lookup->arg;
    told.type = HG_CB_LOOKUP;
    told.ret = found->ret;
    return lookup->callback(&told);
}

}  // namespace

hg_return_t HG_Core_addr_lookup1(hg_core_context_t* context, hg_core_cb_t callback, void* arg, const char* name,
                                 hg_core_op_id_t* op_id) {
    if (!context || !callback || !name) return HG_INVALID_ARG;
    if (op_id && op_id != HG_CORE_OP_ID_IGNORE) *op_id = HG_CORE_OP_ID_NULL;
    return mercury::guarded([&] {
        auto lookup = std::make_unique<Lookup>(Lookup{callback, arg});
        const hg_return_t asked = HG_Addr_lookup1(hg(context), tell, lookup.get(), name, HG_OP_ID_IGNORE);
        if (asked == HG_SUCCESS) (void)lookup.release();
        return asked;
    });
}
hg_return_t HG_Core_addr_lookup2(hg_core_class_t* of, const char* name, hg_core_addr_t* addr) {
    return HG_Addr_lookup2(hg(of), name, hg(addr));
}
hg_return_t HG_Core_addr_free(hg_core_addr_t addr) {
    return addr ? HG_Addr_free(hg(addr)->owner, hg(addr)) : HG_SUCCESS;
}
hg_return_t HG_Core_addr_set_remove(hg_core_addr_t addr) { return addr ? HG_SUCCESS : HG_INVALID_ARG; }
na_addr_t* HG_Core_addr_get_na(hg_core_addr_t addr) { return hg(addr); }
hg_return_t HG_Core_addr_self(hg_core_class_t* of, hg_core_addr_t* addr) { return HG_Addr_self(hg(of), hg(addr)); }
hg_return_t HG_Core_addr_dup(hg_core_addr_t addr, hg_core_addr_t* copy) {
    return addr ? HG_Addr_dup(hg(addr)->owner, hg(addr), hg(copy)) : HG_INVALID_ARG;
}
uint8_t HG_Core_addr_cmp(hg_core_addr_t one, hg_core_addr_t other) { return HG_Addr_cmp(nullptr, hg(one), hg(other)); }
bool HG_Core_addr_is_self(hg_core_addr_t addr) { return addr && hg(addr)->owner->is_me(hg(addr)->addr); }
hg_return_t HG_Core_addr_to_string(char* text, hg_size_t* bytes, hg_core_addr_t addr) {
    return addr ? HG_Addr_to_string(hg(addr)->owner, text, bytes, hg(addr)) : HG_INVALID_ARG;
}
hg_size_t HG_Core_addr_get_serialize_size(hg_core_addr_t addr, unsigned long) {
    return NA_Addr_get_serialize_size(nullptr, hg(addr));
}
hg_return_t HG_Core_addr_serialize(void* bytes, hg_size_t count, unsigned long, hg_core_addr_t addr) {
    return static_cast<hg_return_t>(NA_Addr_serialize(nullptr, bytes, count, hg(addr)));
}
hg_return_t HG_Core_addr_deserialize(hg_core_class_t* of, hg_core_addr_t* addr, const void* bytes, hg_size_t count,
                                     uint64_t) {
    if (!of || !addr || !bytes) return HG_INVALID_ARG;
    return mercury::guarded([&] {
        ByteReader reader(ConstBytes(static_cast<const std::byte*>(bytes), count));
        auto decoded = na::Addr::decode(reader);
        if (decoded && decoded->empty())
            return mercury::failed("HG_Core_addr_deserialize: an empty address", HG_PROTOCOL_ERROR);
        return decoded ? mercury::hand_out(*hg(of), *std::move(decoded), hg(addr))
                       : mercury::failed("HG_Core_addr_deserialize", decoded.error());
    });
}

hg_return_t HG_Core_create(hg_core_context_t* context, hg_core_addr_t addr, hg_id_t id, hg_core_handle_t* handle) {
    return HG_Create(hg(context), hg(addr), id, reinterpret_cast<hg_handle_t*>(handle));
}
hg_return_t HG_Core_destroy(hg_core_handle_t handle) { return HG_Destroy(hg(handle)); }
hg_return_t HG_Core_reset(hg_core_handle_t handle, hg_core_addr_t addr, hg_id_t id) {
    // With a null address HG_Core keeps the old one, while HG drops it.
    return HG_Reset(hg(handle), !addr && handle ? hg(handle)->info.addr : hg(addr), id);
}
hg_return_t HG_Core_ref_incr(hg_core_handle_t handle) { return HG_Ref_incr(hg(handle)); }
int32_t HG_Core_ref_get(hg_core_handle_t handle) { return HG_Ref_get(hg(handle)); }
hg_return_t HG_Core_set_data(hg_core_handle_t handle, void* data, void (*free_callback)(void*)) {
    return HG_Set_data(hg(handle), data, free_callback);
}
void* HG_Core_get_data(hg_core_handle_t handle) { return HG_Get_data(hg(handle)); }
const struct hg_core_info* HG_Core_get_info(hg_core_handle_t handle) {
    if (!handle) return nullptr;
    const hg_info& info = hg(handle)->info;
    hg(handle)->core_info = {core(info.hg_class), core(info.context), core(info.addr), info.id, info.context_id};
    return &hg(handle)->core_info;
}
const void* HG_Core_get_rpc_data(hg_core_handle_t handle) {
    return handle && hg(handle)->registration ? hg(handle)->registration->data.load() : nullptr;
}
hg_return_t HG_Core_set_target_id(hg_core_handle_t handle, uint8_t id) { return HG_Set_target_id(hg(handle), id); }
namespace {

// The sizes of send buffers and received messages include a byte for the flags.
hg_size_t without_flags(hg_size_t bytes) { return bytes - std::min<hg_size_t>(bytes, mercury::core_flags_bytes); }
hg_return_t without_flags(hg_return_t given, hg_size_t* size) {
    if (given == HG_SUCCESS && size) *size = without_flags(*size);
    return given;
}

}  // namespace

size_t HG_Core_get_input_payload_size(hg_core_handle_t handle) {
    return handle && hg(handle)->request ? without_flags(hg(handle)->input_bytes)
                                         : HG_Get_input_payload_size(hg(handle));
}
size_t HG_Core_get_output_payload_size(hg_core_handle_t handle) {
    return handle && hg(handle)->call ? without_flags(HG_Get_output_payload_size(hg(handle)))
                                      : HG_Get_output_payload_size(hg(handle));
}
hg_return_t HG_Core_get_input(hg_core_handle_t handle, void** buffer, hg_size_t* size) {
    return without_flags(HG_Get_input_buf(hg(handle), buffer, size), size);
}
hg_return_t HG_Core_release_input(hg_core_handle_t handle) { return HG_Release_input_buf(hg(handle)); }
hg_return_t HG_Core_get_output(hg_core_handle_t handle, void** buffer, hg_size_t* size) {
    return without_flags(HG_Get_output_buf(hg(handle), buffer, size), size);
}

hg_return_t HG_Core_forward(hg_core_handle_t core_handle, hg_core_cb_t callback, void* arg, uint8_t flags,
                            hg_size_t payload_size) {
    hg_handle_t const handle = hg(core_handle);
    if (!handle) return HG_INVALID_ARG;
    if (handle->busy.load(std::memory_order_acquire) || handle->request) return HG_BUSY;
    if (const hg_return_t made = mercury::prepare_call(*handle); made != HG_SUCCESS) return made;
    const hg_return_t flagged = mercury::put_core_flags(*handle, handle->call->input_room(), payload_size, flags);
    if (flagged != HG_SUCCESS) return flagged;
    handle->input_bytes = payload_size;
    handle->forward_callback = nullptr;
    handle->core_forward_callback = callback;
    handle->forward_arg = arg;
    return mercury::forward(*handle, payload_size + mercury::core_flags_bytes);
}

hg_return_t HG_Core_respond(hg_core_handle_t core_handle, hg_core_cb_t callback, void* arg, uint8_t flags,
                            hg_size_t payload_size) {
    hg_handle_t const handle = hg(core_handle);
    if (!handle) return HG_INVALID_ARG;
    if (!handle->request || !handle->busy.load(std::memory_order_acquire)) return HG_OPNOTSUPPORTED;
    const hg_return_t flagged = mercury::put_core_flags(*handle, handle->request->output_room(), payload_size, flags);
    if (flagged != HG_SUCCESS) return flagged;
    handle->output_bytes = payload_size;
    handle->respond_callback = nullptr;
    handle->core_respond_callback = callback;
    handle->respond_arg = arg;
    return mercury::respond(*handle, payload_size + mercury::core_flags_bytes, callback != nullptr);
}
hg_return_t HG_Core_cancel(hg_core_handle_t handle) { return HG_Cancel(hg(handle)); }
