// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. An op is in exactly one list, named by `place`.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/op.hpp>

#include <new>

namespace cinnabar::ofi {

struct Transfer;

enum class Place : std::uint8_t {
    messages,  // OfiPeer::messages: to be sent
    sending,   // its buffer is with the fabric; in no list
    rma,       // OfiPeer::rma: not admitted yet
    admitted,  // Transfer; in no list
    ended,     // OfiPort: its result is known, it completes as soon as the stack has unwound
};

struct Posted {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    Transfer* transfer = nullptr;  // while admitted
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

}  // namespace cinnabar::ofi
