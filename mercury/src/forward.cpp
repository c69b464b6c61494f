// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of calls.
#include "context.hpp"
#include "errors.hpp"
#include "payload.hpp"

using namespace cinnabar;
using mercury::Counters;

namespace {

Errc grow(hg_handle& handle, std::size_t bytes, Bytes& room) { return handle.call->grow_input(bytes, room); }

[[gnu::cold, gnu::noinline]] mercury::Encoded end_input(hg_handle& handle, hg_proc& proc, hg_return_t ret) noexcept {
    hg_class& owner = *handle.info.hg_class;
    const mercury::Encoded ended =
        mercury::end_encoding(handle, proc, ret, handle.call->input_room(), owner.in_offset, grow);
    if (ended.ret == HG_SUCCESS) owner.counters.add(Counters::requests_extra);
    return ended;
}

// Runs the user's callback, from trigger().
void tell(hg_handle& handle, hg_return_t ret) {
    if (const hg_core_cb_t callback = handle.core_forward_callback) {
        hg_core_cb_info told{};
        told.info.forward.handle = reinterpret_cast<hg_core_handle_t>(&handle);
        told.arg = handle.forward_arg;
        told.type = HG_CB_FORWARD;
        told.ret = ret;
        handle.busy.store(false, std::memory_order_release);
        return static_cast<void>(callback(&told));
    }
    hg_cb_info told{};
    told.info.forward.handle = &handle;
    told.arg = handle.forward_arg;
    told.type = HG_CB_FORWARD;
    told.ret = ret;
    const hg_cb_t callback = handle.forward_callback;
    handle.busy.store(false, std::memory_order_release);  // may be reset and forwarded again from now on
    if (callback) (void)callback(&told);
}

[[gnu::always_inline]] inline void finish(hg_handle& handle, hg_return_t ret) noexcept {
    tell(handle, ret);
    mercury::drop(handle);
}

void ended(rpc::Call& call, void* user) noexcept {
    hg_handle& handle = *static_cast<hg_handle*>(user);
    if (call.result() != Errc::ok) [[unlikely]]
        return finish(handle, mercury::told_by(call.result(), call.app_code()));
    if (!handle.one_way) {
        hg_class& owner = *handle.info.hg_class;
        handle.tally.add(mercury::Tally::replies_received);
        if (call.output().size() > owner.output_eager) owner.counters.add(Counters::replies_extra);
        if (handle.core_forward_callback) return mercury::bring_more(handle, HG_OUTPUT, call.output(), finish);
    }
    finish(handle, HG_SUCCESS);
}

}  // namespace

hg_return_t mercury::forward(hg_handle& handle, std::size_t bytes) noexcept {
    rpc::Call& call = *handle.call;
    call.args.rpc = handle.info.id;
    call.args.one_way = handle.one_way;
    call.args.deadline = handle.info.context->deadline();
    handle.forwarded = true;
    handle.references.fetch_add(1, std::memory_order_relaxed);
    handle.busy.store(true, std::memory_order_relaxed);
    handle.call_id.store(call.id(), std::memory_order_release);
    handle.tally.add(Tally::requests_sent);
    const Errc sent = call.forward(bytes, ended, &handle);
    if (sent == Errc::ok) return HG_SUCCESS;
    handle.busy.store(false, std::memory_order_relaxed);
    handle.references.fetch_sub(1, std::memory_order_relaxed);
    return to_hg(sent);
}

hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct) {
    if (!handle) return HG_INVALID_ARG;
    if (handle->busy.load(std::memory_order_acquire) || handle->request) return HG_BUSY;
    if (handle->info.addr && !handle->registration) return HG_FAULT;  // as in Mercury; HG_Core returns HG_INVALID_ARG
    if (const hg_return_t made = mercury::prepare_call(*handle); made != HG_SUCCESS) return made;
    const std::size_t offset = handle->info.hg_class->in_offset;
    const mercury::Encoded encoded = mercury::encode(*handle, handle->registration->in_proc, in_struct,
                                                     handle->call->input_room(), offset, end_input);
    if (encoded.ret != HG_SUCCESS) return encoded.ret;
    handle->input_bytes = encoded.bytes;
    handle->forward_callback = callback;
    handle->core_forward_callback = nullptr;
    handle->forward_arg = arg;
    return mercury::forward(*handle, offset + encoded.bytes);
}

hg_return_t HG_Cancel(hg_handle_t handle) {
    if (!handle) return HG_INVALID_ARG;
    const rpc::CallId id = handle->call_id.load(std::memory_order_acquire);
    if (id != 0) handle->info.context->rpc->cancel(id);
    return HG_SUCCESS;
}
