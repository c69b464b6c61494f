// SPDX-License-Identifier: BSD-3-Clause
// Where plugins keep what they know of an op between its post and its completion: in the op.
#pragma once

#include <cinnabar/na/op.hpp>

#include <new>

namespace cinnabar::na {

// The base of a plugin's own struct, which has a member `op`.
template <typename Own>
struct WithinOp {
    [[nodiscard]] static Own& make(Op& op) noexcept {
        static_assert(sizeof(Own) <= op_private_bytes_max);
        auto* own = new (op.private_bytes) Own;
        own->op = &op;
        return *own;
    }
    [[nodiscard]] static Own& of(Op& op) noexcept {
        return *std::launder(reinterpret_cast<Own*>(op.private_bytes));
    }
};

[[nodiscard]] constexpr bool is_message(OpKind kind) noexcept {
    return kind == OpKind::send_unexpected || kind == OpKind::send_expected;
}
[[nodiscard]] constexpr bool is_put(OpKind kind) noexcept {
    return kind == OpKind::put || kind == OpKind::put_notify;
}
[[nodiscard]] constexpr bool is_atomic(OpKind kind) noexcept {
    return kind == OpKind::fetch_add || kind == OpKind::compare_swap;
}

}  // namespace cinnabar::na
