// SPDX-License-Identifier: BSD-3-Clause
// The target's side of calls: from the handler to the response.
#include "context.hpp"
#include "errors.hpp"
#include "log.hpp"
#include "payload.hpp"

using namespace cinnabar;
using mercury::Counters;

namespace cinnabar::mercury {
namespace {

void refuse(rpc::Request& request, hg_return_t why) noexcept {
    request.respond_error(to_errc(why), app_code_of(why));
    request.release();
}

void fill(hg_handle& handle, rpc::Request& request, Registration& registration) noexcept {
    hg_class& owner = *handle.info.hg_class;
    handle.request = &request;  // takes over the reference from trigger
    handle.registration = &registration;
    handle.one_way = request.one_way();
    if (!(handle.peer.addr == request.source())) handle.peer.addr = request.source();
    handle.peer.owner = &owner;
    handle.info.addr = &handle.peer;
    handle.info.id = registration.id;
    handle.info.context_id = static_cast<std::uint8_t>(request.source().body().context);
    const std::size_t bytes = request.input().size();
    handle.input_bytes = bytes - std::min<std::size_t>(bytes, owner.in_offset);
    handle.tally.add(Tally::requests_received);
    if (bytes > owner.input_eager) owner.counters.add(Counters::requests_extra);
}

// Responds with an error, if there is no response yet.
[[gnu::cold, gnu::noinline]] void answer_for(hg_handle& handle, const char* whose, hg_return_t value) noexcept {
    log_warning("%s of RPC %llu: %s", whose, static_cast<unsigned long long>(handle.info.id),
                HG_Error_to_string(value));
    if (!handle.busy.exchange(false)) return;
    handle.request->respond_error(to_errc(value), app_code_of(value));
    drop(handle, hg_handle::response_pending);
}

[[gnu::always_inline]] inline void end_handler(hg_handle& handle, hg_return_t returned) noexcept {
    if (returned != HG_SUCCESS) [[unlikely]]
        answer_for(handle, "the handler", returned);
    // The user may keep the handle for any time, but not the receive slot, so that is released.
    if (handle.reference_count() > 1) handle.input_state.give_back(handle);
    drop(handle, hg_handle::handler_runs);
}

// `brought`: the result of fetching the missing data of an HG_Core message.
void run(hg_handle& handle, hg_return_t brought) noexcept {
    const Registration& registration = *handle.registration;
    if (brought != HG_SUCCESS) {
        answer_for(handle, "the rest of the arguments", brought);
        drop(handle);  // the user's reference; the handler has not run
        return drop(handle, hg_handle::handler_runs);
    }
    hg_return_t returned = HG_INVALID_ARG;  // if the RPC is registered without a handler
    if (const hg_rpc_cb_t handler = registration.handler) {
        returned = handler(&handle);
    } else if (const hg_core_rpc_cb_t core_handler = registration.core_handler) {
        returned = core_handler(reinterpret_cast<hg_core_handle_t>(&handle));
    }
    end_handler(handle, returned);
}

}  // namespace

void run_handler(rpc::Request& request, void* target) noexcept {
    Registration& registration = *static_cast<Registration*>(target);
    hg_context& context = *static_cast<hg_context*>(request.context().user_data);
    if (context.unposted.load(std::memory_order_relaxed)) return refuse(request, HG_HOSTUNREACH);
    const hg_rpc_cb_t handler = registration.handler;
    if (!handler && !registration.core_handler) return refuse(request, HG_INVALID_ARG);
    hg_return_t why = HG_SUCCESS;
    // The references: the user's, the response's (unless the call is one-way), and this function's. The high bits say
    // that the response is pending and the handler runs.
    const std::int32_t references = (request.one_way() ? 2 : 3 + hg_handle::response_pending) + hg_handle::handler_runs;
    hg_handle* const handle = take_handle(context, references, why);
    if (!handle) return refuse(request, why);
    handle->input_state.reset(request.input_stays());
    fill(*handle, request, registration);
    handle->busy.store(!request.one_way(), std::memory_order_relaxed);
    if (handler) return end_handler(*handle, handler(handle));
    bring_more(*handle, HG_INPUT, request.input(), run);
}

}  // namespace cinnabar::mercury

namespace {

Errc grow(hg_handle& handle, std::size_t bytes, Bytes& room) { return handle.request->grow_output(bytes, room); }

[[gnu::cold, gnu::noinline]] mercury::Encoded end_output(hg_handle& handle, hg_proc& proc, hg_return_t ret) noexcept {
    hg_class& owner = *handle.info.hg_class;
    const mercury::Encoded ended =
        mercury::end_encoding(handle, proc, ret, handle.request->output_room(), owner.out_offset, grow);
    if (ended.ret == HG_SUCCESS) owner.counters.add(Counters::replies_extra);
    return ended;
}

void left(rpc::Request&, Errc result, void* user) noexcept {
    hg_handle& handle = *static_cast<hg_handle*>(user);
    if (const hg_core_cb_t callback = handle.core_respond_callback) {
        hg_core_cb_info told{};
        told.info.respond.handle = reinterpret_cast<hg_core_handle_t>(&handle);
        told.arg = handle.respond_arg;
        told.type = HG_CB_RESPOND;
        told.ret = mercury::to_hg(result);
        (void)callback(&told);
    } else {
        hg_cb_info told{};
        told.info.respond.handle = &handle;
        told.arg = handle.respond_arg;
        told.type = HG_CB_RESPOND;
        told.ret = mercury::to_hg(result);
        (void)handle.respond_callback(&told);
    }
    handle.leaving.store(false, std::memory_order_relaxed);
    mercury::drop(handle);
}

}  // namespace

hg_return_t mercury::respond(hg_handle& handle, std::size_t bytes, bool tells) noexcept {
    if (!handle.busy.exchange(false)) return HG_OPNOTSUPPORTED;
    handle.tally.add(Tally::replies_sent);
    handle.leaving.store(tells, std::memory_order_relaxed);
    if (tells) handle.references.fetch_sub(hg_handle::response_pending, std::memory_order_relaxed);
    handle.request->respond(bytes, 0, tells ? left : nullptr, &handle);
    if (!tells) drop(handle, hg_handle::response_pending);
    return HG_SUCCESS;
}

hg_return_t HG_Respond(hg_handle_t handle, hg_cb_t callback, void* arg, void* out_struct) {
    if (!handle) return HG_INVALID_ARG;
    if (!handle->request || !handle->busy.load(std::memory_order_acquire)) return HG_OPNOTSUPPORTED;
    const std::size_t offset = handle->info.hg_class->out_offset;
    const Bytes room = handle->request->output_room();
    if (room.empty()) return HG_AGAIN;
    const mercury::Encoded encoded =
        mercury::encode(*handle, handle->registration->out_proc, out_struct, room, offset, end_output);
    if (encoded.ret != HG_SUCCESS) return encoded.ret;
    handle->output_bytes = encoded.bytes;
    handle->respond_callback = callback;
    handle->core_respond_callback = nullptr;
    handle->respond_arg = arg;
    return mercury::respond(*handle, offset + encoded.bytes, callback != nullptr);
}
