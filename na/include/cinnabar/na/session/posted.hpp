// SPDX-License-Identifier: BSD-3-Clause
// What a transport knows of an op between its post and its completion. It is kept in the op.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/op.hpp>

#include <new>

namespace cinnabar::na {

struct AccessSlot;

// The list that a posted op is in; it is in exactly one, but for `sending`.
enum class OpPlace : std::uint8_t {
    messages,  // SessionPeer: to be sent
    rma,       // SessionPeer: nothing was done for it yet
    copying,   // shm: being copied across address spaces, window by window
    notifies,  // shm: its bytes are in place, its value is to be sent
    requests,  // RemoteAccess: admitted, the question is in no frame yet
    puts,      // RemoteAccess: admitted, has data that are in no frame yet
    sending,   // with the kernel, the device or the fabric, which may be at it; in no list, or the first of `messages`
    awaiting,  // the owner of the memory knows of it, its answer is not here
    ended,     // SessionPort: its result is known, it completes as soon as the stack has unwound
};

// A transport that keeps more derives from it.
struct PostedOp {
    ListLink<PostedOp> link;
    Op* op = nullptr;
    AccessSlot* slot = nullptr;  // RemoteAccess: while admitted
    std::uint64_t moved = 0;     // put: bytes that are in frames or copied; get: bytes that came
    OpPlace place = OpPlace::messages;
    Errc result = Errc::ok;
};
using PostedOps = IntrusiveList<PostedOp, &PostedOp::link>;

template <typename Posted = PostedOp>
[[nodiscard]] Posted& make_posted(Op& op) noexcept {
    static_assert(sizeof(Posted) <= op_private_bytes_max);
    auto* posted = new (op.private_bytes) Posted;
    posted->op = &op;
    return *posted;
}
[[nodiscard]] inline PostedOp& posted_of(Op& op) noexcept {
    return *std::launder(reinterpret_cast<PostedOp*>(op.private_bytes));
}

[[nodiscard]] constexpr bool is_message(OpKind kind) noexcept {
    return kind == OpKind::send_unexpected || kind == OpKind::send_expected;
}
[[nodiscard]] constexpr bool is_put(OpKind kind) noexcept { return kind == OpKind::put || kind == OpKind::put_notify; }
[[nodiscard]] constexpr bool is_atomic(OpKind kind) noexcept {
    return kind == OpKind::fetch_add || kind == OpKind::compare_swap;
}

}  // namespace cinnabar::na
