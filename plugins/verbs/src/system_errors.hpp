// SPDX-License-Identifier: BSD-3-Clause
// Error texts for failures of the system and the device, with advice. Pure, except that they read the limit of locked
// memory.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>

namespace cinnabar::verbs {

// The least inline size that a device must offer: credit messages, which are only a header, are sent inline.
inline constexpr std::uint32_t inline_bytes_min = 16;

// The error of a registration: out_of_memory, with the limit of locked memory; permission: the memory does not allow
// that access.
[[nodiscard]] Error registration_error(int os_errno);
// The error of making a memory window: too_large, because the device has no more of them.
[[nodiscard]] Error window_error(int os_errno);
// The error of making an id of the connection manager or a queue pair: out_of_memory, with the limit of locked memory;
// permission; overloaded: the device or the process has no more of them; unsupported: the device does not have them;
// io.
[[nodiscard]] Error connection_error(int os_errno);

}  // namespace cinnabar::verbs
