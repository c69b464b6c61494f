// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. An op is in exactly one list, named by `place`.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/op.hpp>

#include <new>

namespace cinnabar::shm {

struct RmaSlot;

enum class Place : std::uint8_t {
    messages,  // ShmPeer::messages: to be written into the ring
    rma,       // ShmPeer::rma: nothing was done for it yet
    copying,   // Session: being copied across address spaces, window by window
    notifies,  // Session: its bytes are in place, its value is to be written into the ring
    puts,      // Session: admitted, has data that are in no record yet
    requests,  // Session: admitted, the question is in no record yet
    awaiting,  // Session: admitted, everything is sent, the answer is not here
    ended,     // ShmPort: its result is known, it completes as soon as the stack has unwound
};

struct Posted {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    RmaSlot* slot = nullptr;  // while admitted
    std::uint64_t moved = 0;  // put: bytes that are copied or in records; get: bytes that came
    Place place = Place::messages;
    Errc result = Errc::ok;

    [[nodiscard]] static Posted& make(na::Op& op) noexcept {
        auto* posted = new (op.private_bytes) Posted;
        posted->op = &op;
        return *posted;
    }
    [[nodiscard]] static Posted& of(na::Op& op) noexcept {
        return *std::launder(reinterpret_cast<Posted*>(op.private_bytes));
    }
};
static_assert(sizeof(Posted) <= na::op_private_bytes_max);

using PostedList = IntrusiveList<Posted, &Posted::link>;

[[nodiscard]] constexpr bool is_message(na::OpKind kind) noexcept {
    return kind == na::OpKind::send_unexpected || kind == na::OpKind::send_expected;
}
[[nodiscard]] constexpr bool is_put(na::OpKind kind) noexcept {
    return kind == na::OpKind::put || kind == na::OpKind::put_notify;
}
[[nodiscard]] constexpr bool is_atomic(na::OpKind kind) noexcept {
    return kind == na::OpKind::fetch_add || kind == na::OpKind::compare_swap;
}

}  // namespace cinnabar::shm
