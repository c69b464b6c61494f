// SPDX-License-Identifier: BSD-3-Clause
// Messages of HG_Core: the user's bytes, followed by one byte of flags. A flag says that the sender has more data than
// fit into the message. Then the receiving program fetches those data in its own way, before the call's handler or
// callback runs.
#pragma once

#include "mercury_core_types.h"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/work.hpp>

#include <algorithm>
#include <atomic>

struct hg_handle;

namespace cinnabar::mercury {

struct MoreData {
    WorkItem work;
    void (*next)(hg_handle& handle, hg_return_t ret) noexcept = nullptr;
    hg_return_t ret = HG_SUCCESS;
    std::atomic<bool> coming{false};
    bool release = false;  // whether release_more must call the user's release function
};

constexpr std::size_t core_flags_bytes = 1;
[[nodiscard]] inline ConstBytes core_payload(ConstBytes message) noexcept {
    return message.first(message.size() - std::min(message.size(), core_flags_bytes));
}

// Writes the flags after `payload_bytes` of `room`. HG_MSGSIZE: no room for them. HG_OPNOTSUPPORTED: unknown flags.
[[nodiscard]] hg_return_t put_core_flags(hg_handle& handle, Bytes room, std::size_t payload_bytes,
                                         std::uint8_t flags) noexcept;
// Calls `next`: at once, or from trigger() once the user has fetched the missing data.
void bring_more(hg_handle& handle, hg_op_t op, ConstBytes message,
                void (*next)(hg_handle& handle, hg_return_t ret) noexcept) noexcept;
// Lets the user release the data that was fetched, or that the other side was told to fetch.
void release_more(hg_handle& handle) noexcept;

}  // namespace cinnabar::mercury
