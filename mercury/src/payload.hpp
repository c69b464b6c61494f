// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding of the user's values. A proc works directly on the message, or on separate memory if the
// message is too small.
#pragma once

#include "errors.hpp"
#include "handle.hpp"
#include "mercury_proc.h"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::mercury {

struct Encoded {
    hg_return_t ret = HG_SUCCESS;
    std::size_t bytes = 0;  // of the value
};

// Finishes an encoding if the proc has failed, or if the value does not fit into the message; calls end_encoding().
using EndEncoding = Encoded (*)(hg_handle& handle, hg_proc& proc, hg_return_t ret) noexcept;

// Encodes `value` after the first `offset` bytes of `room`. Inlined, and without the arguments that only `end` needs:
// arguments that do not fit into registers are passed in memory, and passing them took as many instructions as the
// encoding.
[[nodiscard, gnu::always_inline]] inline Encoded encode(hg_handle& handle, hg_proc_cb_t proc_callback, void* value,
                                                        Bytes room, std::size_t offset, EndEncoding end) noexcept {
    if (!value) return {};
    if (!proc_callback) [[unlikely]]
        return {failed("a value was given to send, but the RPC is registered without a proc for it", HG_FAULT)};
    hg_class* const owner = handle.info.hg_class;
    char* const first = reinterpret_cast<char*>(room.data());
    const std::uint8_t flags = owner->options.no_bulk_eager ? 0 : HG_PROC_BULK_EAGER;
    hg_proc proc{first + offset, first + room.size(), first + offset, owner, &handle, nullptr, 0, HG_ENCODE, flags, 1};
    const hg_return_t ret = proc_callback(&proc, value);
    if (ret != HG_SUCCESS || proc.extra) [[unlikely]]
        return end(handle, proc, ret);
    return {HG_SUCCESS, hg_proc_get_size_used(&proc)};
}

// Frees the memory of a proc. If the value was encoded in that memory, first calls `grow` to make the message large
// enough, and copies the user's first `offset` bytes of `room`, and then the value, into the message.
[[nodiscard]] Encoded end_encoding(hg_handle& handle, hg_proc& proc, hg_return_t ret, Bytes room, std::size_t offset,
                                   Errc (*grow)(hg_handle& handle, std::size_t bytes, Bytes& room)) noexcept;

[[nodiscard]] hg_return_t decode(hg_handle& handle, hg_proc_cb_t proc, void* value, ConstBytes bytes) noexcept;
[[nodiscard]] hg_return_t free_value(hg_handle& handle, hg_proc_cb_t proc, void* value) noexcept;

}  // namespace cinnabar::mercury
