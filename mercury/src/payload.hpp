// SPDX-License-Identifier: BSD-3-Clause
// Between the user's values and the bytes of messages: procs run over the message itself, or over memory of their own
// where that is too small.
#pragma once

#include "handle.hpp"
#include "mercury_proc.h"

#include <cinnabar/base/bytes.hpp>

namespace cinnabar::mercury {

// Encodes `value` behind `offset` bytes of `room`. When that does not suffice, `grow` gives memory for all of it, once,
// and what the user wrote into the first `offset` bytes comes along. `used`: bytes from the start of the room.
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
