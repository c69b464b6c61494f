// SPDX-License-Identifier: BSD-3-Clause
#include "payload.hpp"

#include "context.hpp"
#include "errors.hpp"
#include "log.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace cinnabar;

namespace cinnabar::mercury {
namespace {

struct FreeExtra {
    void operator()(hg_proc* proc) const noexcept {
        if (proc->extra && proc->extra_is_mine) std::free(proc->extra);
    }
};

hg_proc proc_over(hg_handle& handle, void* bytes, std::size_t count, hg_proc_op_t op) noexcept {
    char* const begin = static_cast<char*>(bytes);
    return {begin, begin + count, begin, handle.info.hg_class, &handle, nullptr, 0, op, 0, 1};
}

}  // namespace

Encoded end_encoding(hg_handle& handle, hg_proc& proc, hg_return_t ret, Bytes room, std::size_t offset,
                     Errc (*grow)(hg_handle& handle, std::size_t bytes, Bytes& room)) noexcept {
    const std::unique_ptr<hg_proc, FreeExtra> extra(&proc);
    if (ret != HG_SUCCESS) return {ret};
    if (handle.info.hg_class->options.no_overflow) return {HG_OVERFLOW};
    const std::size_t bytes = hg_proc_get_size_used(&proc);
    Bytes large;
    if (const Errc grown = grow(handle, offset + bytes, large); grown != Errc::ok) return {to_hg(grown)};
    if (offset) std::memcpy(large.data(), room.data(), offset);
    std::memcpy(large.data() + offset, proc.begin, bytes);
    return {HG_SUCCESS, bytes};
}

hg_return_t decode(hg_handle& handle, hg_proc_cb_t proc_callback, void* value, ConstBytes bytes) noexcept {
    // Decoding does not write to the buffer.
    hg_proc proc = proc_over(handle, const_cast<std::byte*>(bytes.data()), bytes.size(), HG_DECODE);
    return proc_callback(&proc, value);
}

hg_return_t free_value(hg_handle& handle, hg_proc_cb_t proc_callback, void* value) noexcept {
    hg_proc proc = proc_over(handle, nullptr, 0, HG_FREE);
    return proc_callback(&proc, value);
}

}  // namespace cinnabar::mercury

using mercury::decode;
using mercury::free_value;

namespace {

ConstBytes behind(ConstBytes bytes, hg_size_t offset) {
    return bytes.subspan(std::min<std::size_t>(bytes.size(), offset));
}

hg_proc_cb_t in_proc_of(const hg_handle& handle) {
    return handle.registration ? handle.registration->in_proc.load() : nullptr;
}

hg_proc_cb_t out_proc_of(const hg_handle& handle) {
    return handle.registration ? handle.registration->out_proc.load() : nullptr;
}

void hold(hg_handle& handle) { handle.references.fetch_add(1, std::memory_order_relaxed); }

[[gnu::always_inline]] inline hg_return_t decode_input(hg_handle& handle, hg_proc_cb_t proc, void* in_struct) {
    const ConstBytes bytes = handle.received_input();
    const bool released = bytes.data() == nullptr && handle.input_bytes != 0;
    return released ? HG_FAULT : decode(handle, proc, in_struct, behind(bytes, handle.info.hg_class->in_offset));
}

// As HG_Get_input, for arguments that may move, or that are released once they are decoded.
[[gnu::noinline]] hg_return_t get_lent_input(hg_handle& handle, hg_proc_cb_t proc, void* in_struct) {
    handle.input_state.begin_read();
    const hg_return_t decoded = decode_input(handle, proc, in_struct);
    if (decoded == HG_SUCCESS && handle.info.hg_class->options.release_input_early && handle.request) {
        handle.request->release_input();
        handle.input_state.released();
    } else {
        handle.input_state.end_read(handle);
    }
    if (decoded == HG_SUCCESS) hold(handle);
    return decoded;
}

}  // namespace

hg_return_t HG_Get_input(hg_handle_t handle, void* in_struct) {
    if (!handle || !in_struct) return HG_INVALID_ARG;
    const hg_proc_cb_t proc = in_proc_of(*handle);
    if (!proc) return HG_FAULT;
    if (!handle->input_state.stays() || handle->info.hg_class->options.release_input_early) {
        return get_lent_input(*handle, proc, in_struct);
    }
    const hg_return_t decoded = decode_input(*handle, proc, in_struct);
    if (decoded == HG_SUCCESS) hold(*handle);
    return decoded;
}

hg_return_t HG_Free_input(hg_handle_t handle, void* in_struct) {
    if (!handle || !in_struct) return HG_INVALID_ARG;
    const hg_proc_cb_t proc = in_proc_of(*handle);
    if (!proc) return HG_FAULT;
    const hg_return_t freed = free_value(*handle, proc, in_struct);
    if (freed == HG_SUCCESS) mercury::drop(*handle);
    return freed;
}

hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct) {
    if (!handle || !out_struct) return HG_INVALID_ARG;
    const hg_proc_cb_t proc = out_proc_of(*handle);
    if (!proc) return HG_FAULT;
    const ConstBytes bytes = behind(handle->received_output(), handle->info.hg_class->out_offset);
    const hg_return_t decoded = decode(*handle, proc, out_struct, bytes);
    if (decoded == HG_SUCCESS) hold(*handle);
    return decoded;
}

hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct) {
    if (!handle || !out_struct) return HG_INVALID_ARG;
    const hg_proc_cb_t proc = out_proc_of(*handle);
    if (!proc) return HG_FAULT;
    const hg_return_t freed = free_value(*handle, proc, out_struct);
    if (freed == HG_SUCCESS) mercury::drop(*handle);
    return freed;
}

hg_size_t HG_Get_input_payload_size(hg_handle_t handle) { return handle ? handle->input_bytes : 0; }

hg_size_t HG_Get_output_payload_size(hg_handle_t handle) {
    if (!handle) return 0;
    if (handle->request || handle->abandoned) return handle->output_bytes;
    return behind(handle->received_output(), handle->info.hg_class->out_offset).size();
}

namespace {

// Returns received bytes, or a buffer to write to. Mercury's interface has the same functions for both, and so no
// const.
hg_return_t give(ConstBytes bytes, void** buffer, hg_size_t* size) {
    if (bytes.data() == nullptr) return HG_FAULT;
    *buffer = const_cast<std::byte*>(bytes.data());
    if (size) *size = bytes.size();
    return HG_SUCCESS;
}

hg_return_t give_extra(ConstBytes bytes, hg_size_t offset, hg_size_t eager, void** buffer, hg_size_t* size) {
    const bool extra = bytes.size() > eager;
    *buffer = extra ? const_cast<std::byte*>(bytes.data() + offset) : nullptr;
    if (size) *size = extra ? bytes.size() - offset : 0;
    return HG_SUCCESS;
}

}  // namespace

hg_return_t HG_Get_input_buf(hg_handle_t handle, void** buffer, hg_size_t* size) {
    if (!handle || !buffer) return HG_INVALID_ARG;
    if (handle->request || handle->abandoned) {
        handle->input_state.settle(*handle);
        return give(handle->received_input(), buffer, size);
    }
    if (handle->busy.load(std::memory_order_acquire)) return HG_BUSY;
    const hg_return_t made = mercury::prepare_call(*handle);
    return made == HG_SUCCESS ? give(handle->call->input_room(), buffer, size) : made;
}

hg_return_t HG_Get_output_buf(hg_handle_t handle, void** buffer, hg_size_t* size) {
    if (!handle || !buffer) return HG_INVALID_ARG;
    return give(handle->request ? ConstBytes(handle->request->output_room()) : handle->received_output(), buffer, size);
}

hg_return_t HG_Release_input_buf(hg_handle_t handle) {
    if (!handle) return HG_INVALID_ARG;
    if (!handle->request) return HG_FAULT;
    handle->input_state.begin_read();
    handle->request->release_input();
    handle->input_state.released();
    return HG_SUCCESS;
}

hg_return_t HG_Get_input_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size) {
    if (!handle || !buffer) return HG_INVALID_ARG;
    const hg_class& owner = *handle->info.hg_class;
    handle->input_state.settle(*handle);
    return give_extra(handle->received_input(), owner.in_offset, owner.input_eager, buffer, size);
}

hg_return_t HG_Get_output_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size) {
    if (!handle || !buffer) return HG_INVALID_ARG;
    const hg_class& owner = *handle->info.hg_class;
    return give_extra(handle->received_output(), owner.out_offset, owner.output_eager, buffer, size);
}
