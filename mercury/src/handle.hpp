// SPDX-License-Identifier: BSD-3-Clause
// One handle for both sides: at the origin a Call that is made when it is needed, since address and id may come late;
// at the target a Request. Counted; operations in flight hold a reference, so that destroying one in mid-flight is
// safe.
#pragma once

#include "class.hpp"
#include "input.hpp"
#include "more_data.hpp"
#include "registration.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/request.hpp>

#include <atomic>

struct hg_handle : cinnabar::PoolSlot {
    hg_info info{};
    hg_addr peer;  // what info.addr points to
    cinnabar::mercury::Registration* registration = nullptr;
    // Counted in the low bits; `answer_owed` beside them tells, in one look, that the last one is the answer's.
    std::atomic<std::int32_t> references{0};
    static constexpr std::int32_t answer_owed = 1 << 24;
    [[nodiscard]] std::int32_t reference_count() const noexcept {
        return references.load(std::memory_order_relaxed) & (answer_owed - 1);
    }
    // An operation holds a reference: the call at the origin, the answer that is owed at the target.
    std::atomic<bool> busy{false};
    std::atomic<bool> leaving{false};  // target: an answer that is given, and whose callback has not run yet
    bool one_way = false;
    bool abandoned = false;  // by its handler, without an answer: that reference may still be given back

    // Origin. The call is made by whoever asks for its bytes, or by HG_Forward, and stays until the next.
    cinnabar::rpc::Call* call = nullptr;
    bool forwarded = false;  // that call was
    std::atomic<cinnabar::rpc::CallId> call_id{0};
    cinnabar::na::Addr target;  // the address with the context's id; empty when not made yet
    hg_cb_t forward_callback = nullptr;
    hg_core_cb_t core_forward_callback = nullptr;  // instead, where HG_Core forwarded it
    void* forward_arg = nullptr;

    // Target.
    cinnabar::rpc::Request* request = nullptr;
    cinnabar::mercury::InputState input_state;
    hg_cb_t respond_callback = nullptr;
    hg_core_cb_t core_respond_callback = nullptr;
    void* respond_arg = nullptr;
    hg_core_info core_info{};  // what HG_Core_get_info hands out
    cinnabar::mercury::MoreData more;

    hg_size_t input_bytes = 0;  // encoded, without the user's offset
    hg_size_t output_bytes = 0;
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;

    // The bytes that came; empty when there are none.
    [[nodiscard]] cinnabar::ConstBytes received_input() const noexcept {
        return request ? request->input() : cinnabar::ConstBytes();
    }
    [[nodiscard]] cinnabar::ConstBytes received_output() const noexcept {
        const bool here = !busy.load(std::memory_order_acquire) || more.coming.load(std::memory_order_acquire);
        return call && forwarded && here ? call->output() : cinnabar::ConstBytes();
    }
};

namespace cinnabar::mercury {

// A fresh handle of the context with `references`; null when there are too many, or its create callback failed (`why`).
[[nodiscard]] hg_handle* take_handle(hg_context& context, std::int32_t references, hg_return_t& why) noexcept;
// Gives a reference back; with the answer's, if `owed` is hg_handle::answer_owed.
void drop(hg_handle& handle, std::int32_t owed = 0) noexcept;

// The call to fill; made anew if the last one was forwarded.
[[nodiscard]] hg_return_t prepare_call(hg_handle& handle) noexcept;
// Sends the first `bytes` of its input. The callback is set in the handle before.
[[nodiscard]] hg_return_t forward(hg_handle& handle, std::size_t bytes) noexcept;
// Answers with the first `bytes` of the output. HG_OPNOTSUPPORTED: one-way, or answered already.
[[nodiscard]] hg_return_t respond(hg_handle& handle, std::size_t bytes) noexcept;

}  // namespace cinnabar::mercury
