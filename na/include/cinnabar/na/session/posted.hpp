// SPDX-License-Identifier: BSD-3-Clause
// The state of an op between its post and its completion, kept in the op's private bytes.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/op.hpp>

#include <new>

namespace cinnabar::na {

struct AccessSlot;

// The stage of a posted op. In each stage but `sending`, the op is in exactly one list; the comments below say whose
// list.
enum class OpStage : std::uint8_t {
    messages,  // SessionPeer: to be sent
    rma,       // SessionPeer: not started
    copying,   // shm: being copied between address spaces, window by window
    notifies,  // shm: its bytes are in place, and its notification has to be sent
    requests,  // RemoteAccess: admitted; its request is in no frame yet
    puts,      // RemoteAccess: admitted; some of its data are in no frame yet
    sending,   // the kernel, the device or the fabric may be using the op; in no list, or the first of `messages`
    awaiting,  // the owner of the memory has the request, and has not answered
    ended,     // SessionPort: its result is known, and its completion is deferred
};

// A transport that needs more state derives from it.
struct PostedOp {
    ListLink<PostedOp> link;
    Op* op = nullptr;
    AccessSlot* slot = nullptr;  // RemoteAccess: set while admitted
    std::uint64_t moved = 0;     // put: bytes put in frames or copied; get: bytes received
    OpStage stage = OpStage::messages;
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

// Calls complete(op) for the first ops of a list, at most `most`, and returns the number of these ops. Ops that a
// completion adds to the list wait for the next call.
template <typename Ops, typename Complete>
unsigned complete_some(Ops& ended, unsigned most, Complete&& complete) noexcept {
    Ops round;
    round.splice_back(ended);
    unsigned did = 0;
    while (auto* const posted = round.pop_front()) {
        complete(*posted);
        if (++did == most) break;
    }
    round.splice_back(ended);
    ended.splice_back(round);
    return did;
}

[[nodiscard]] constexpr bool is_message(OpKind kind) noexcept {
    return kind == OpKind::send_unexpected || kind == OpKind::send_expected;
}
[[nodiscard]] constexpr bool is_put(OpKind kind) noexcept { return kind == OpKind::put || kind == OpKind::put_notify; }
[[nodiscard]] constexpr bool is_atomic(OpKind kind) noexcept {
    return kind == OpKind::fetch_add || kind == OpKind::compare_swap;
}

}  // namespace cinnabar::na
