// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding of the user's values. Procs run directly on the message, or on separate memory if the message
// is too small.
#pragma once

#include "handle.hpp"
#include "mercury_proc.h"

#include <cinnabar/base/bytes.hpp>

namespace cinnabar::mercury {

// Encodes `value` after the first `offset` bytes of `room`. If it does not fit, `grow` is called once for memory that
// is large enough, and the user's first `offset` bytes are copied there. `used` counts from the start of the room.
struct Encoding {
    hg_handle* handle;
    hg_proc_cb_t proc;
    void* value;
    Bytes room;
    std::size_t offset;
    Errc (*grow)(hg_handle& handle, std::size_t bytes, Bytes& room);
    std::size_t used = 0;
    bool extra = false;
};
[[nodiscard]] hg_return_t encode(Encoding& encoding) noexcept;

[[nodiscard]] hg_return_t decode(hg_handle& handle, hg_proc_cb_t proc, void* value, ConstBytes bytes) noexcept;
[[nodiscard]] hg_return_t free_value(hg_handle& handle, hg_proc_cb_t proc, void* value) noexcept;

}  // namespace cinnabar::mercury
