// SPDX-License-Identifier: BSD-3-Clause
// HG_Core's messages: the user's bytes, and behind them one of flags, by which a sender says that it has more than
// fitted. The receiver's user brings that, however he likes, before the handler or the callback of the call runs.
#pragma once

#include "mercury_core_types.h"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/work.hpp>

#include <algorithm>
#include <atomic>

struct hg_handle;

namespace cinnabar::mercury {

struct MoreData {
    Work work;
    void (*next)(hg_handle& handle, hg_return_t ret) noexcept = nullptr;
    hg_return_t ret = HG_SUCCESS;
    std::atomic<bool> coming{false};
    bool release = false;  // there is something that the user will want to release
};

constexpr std::size_t core_flags_bytes = 1;
[[nodiscard]] inline ConstBytes core_payload(ConstBytes message) noexcept {
    return message.first(message.size() - std::min(message.size(), core_flags_bytes));
}

// Puts the flags behind `payload_bytes` of `room`. HG_MSGSIZE: no room for them. HG_OPNOTSUPPORTED: unknown flags.
[[nodiscard]] hg_return_t put_core_flags(hg_handle& handle, Bytes room, std::size_t payload_bytes,
                                         std::uint8_t flags) noexcept;
// Calls `next`: at once, or from trigger() when the user has brought what the message came without.
void bring_more(hg_handle& handle, hg_op_t op, ConstBytes message,
                void (*next)(hg_handle& handle, hg_return_t ret) noexcept) noexcept;
// The user releases what he brought, or what he told the other side to fetch.
void release_more(hg_handle& handle) noexcept;

}  // namespace cinnabar::mercury
