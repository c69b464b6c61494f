// SPDX-License-Identifier: BSD-3-Clause
// A handle, at the origin or at the target. At the origin it has a Call, which is created only when it is needed,
// because the user may set the address and the id late; at the target it has a Request. Reference-counted: an operation
// in flight holds a reference, so the user may destroy the handle meanwhile.
#pragma once

#include "class.hpp"
#include "counters.hpp"
#include "input.hpp"
#include "more_data.hpp"
#include "registration.hpp"

#include <cinnabar/base/spare_slot.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/request.hpp>

#include <atomic>

struct hg_handle : cinnabar::PoolSlot {
    hg_info info{};
    hg_addr peer;  // target of info.addr; kept for the next use of the slot, which usually has the same peer
    cinnabar::mercury::Registration* registration = nullptr;
    // The number of references is in the low bits. `response_pending` is set while one of them belongs to a response
    // that has not been given yet; `handler_runs`, while one belongs to the thread that runs the handler; `listed`,
    // while the handle is in hg_context::abandoned.
    std::atomic<std::int32_t> references{0};
    static constexpr std::int32_t response_pending = 1 << 24;
    static constexpr std::int32_t handler_runs = 1 << 25;
    static constexpr std::int32_t listed = 1 << 26;
    [[nodiscard]] std::int32_t reference_count() const noexcept {
        return references.load(std::memory_order_relaxed) & (response_pending - 1);
    }
    // An operation is in flight and holds a reference: the call at the origin, the response at the target.
    std::atomic<bool> busy{false};
    std::atomic<bool> leaving{false};  // target: the response was given and its callback has not run yet
    bool one_way = false;
    bool abandoned = false;  // the handler dropped it without a response; one more reference may still be dropped

    // At the origin. The call is created by the first function that needs its bytes, or by HG_Forward. The call is kept
    // until the next call is created.
    cinnabar::rpc::Call* call = nullptr;
    bool forwarded = false;  // whether `call` was forwarded
    std::atomic<cinnabar::rpc::CallId> call_id{0};
    cinnabar::na::Addr target;  // the address with the id of the target context; empty if not set yet
    hg_cb_t forward_callback = nullptr;
    hg_core_cb_t core_forward_callback = nullptr;  // used instead if HG_Core forwarded the call
    void* forward_arg = nullptr;

    // Target.
    cinnabar::rpc::Request* request = nullptr;
    cinnabar::mercury::InputState input_state;
    hg_cb_t respond_callback = nullptr;
    hg_core_cb_t core_respond_callback = nullptr;
    void* respond_arg = nullptr;
    hg_core_info core_info{};  // returned by HG_Core_get_info
    cinnabar::mercury::MoreData more;

    cinnabar::mercury::Tally tally;  // counts of all uses of the slot
    hg_size_t input_bytes = 0;       // encoded, without the user's offset
    hg_size_t output_bytes = 0;
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;

    // The bytes received; empty if there are none.
    [[nodiscard]] cinnabar::ConstBytes received_input() const noexcept {
        return request ? request->input() : cinnabar::ConstBytes();
    }
    [[nodiscard]] cinnabar::ConstBytes received_output() const noexcept {
        const bool here = !busy.load(std::memory_order_acquire) || more.coming.load(std::memory_order_acquire);
        return call && forwarded && here ? call->output() : cinnabar::ConstBytes();
    }
};

namespace cinnabar::mercury {

// While this thread runs a context's callbacks, keeps one handle that it has freed, for its next take_handle().
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareSlot<hg_handle> spare_handle;

// As drop(), whatever the number of references.
void drop_one_of_last(hg_handle& handle, std::int32_t whose) noexcept;
// Drops a reference. `whose`: 0, or the bit of the reference's owner, which is cleared.
[[gnu::always_inline]] inline void drop(hg_handle& handle, std::int32_t whose = 0) noexcept {
    std::int32_t seen = handle.references.load(std::memory_order_relaxed);
    const std::int32_t left = seen - whose - 1;
    // The fast path, if another reference is certainly left, and its holder can give the response if one is pending.
    // That is so if two or more references are left, or the handler's, or one while no response is pending.
    constexpr std::int32_t two_or_handler = (hg_handle::response_pending - 2) | hg_handle::handler_runs;
    const bool others_stay = (left & two_or_handler) != 0 || left == 1;
    if (!others_stay || !handle.references.compare_exchange_strong(seen, left, std::memory_order_acq_rel)) {
        drop_one_of_last(handle, whose);
    }
}

// Ensures that there is a call to encode into; creates a new one if the last one was forwarded.
[[nodiscard]] hg_return_t prepare_call(hg_handle& handle) noexcept;
// Sends the first `bytes` of the input. Requires: the callback is set in the handle.
[[nodiscard]] hg_return_t forward(hg_handle& handle, std::size_t bytes) noexcept;
// Responds with the first `bytes` of the output. `tells`: afterwards calls the callback that is set in the handle.
// HG_OPNOTSUPPORTED: the call is one-way, or was answered already.
[[nodiscard]] hg_return_t respond(hg_handle& handle, std::size_t bytes, bool tells) noexcept;

}  // namespace cinnabar::mercury
