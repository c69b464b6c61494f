// SPDX-License-Identifier: BSD-3-Clause
// Errors of the system and the device, with what to do about them. Pure, except that they read the limit of locked
// memory.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>

namespace cinnabar::verbs {

// The inline size that a device has to offer: credit messages, which are only a header, are sent inline.
inline constexpr std::uint32_t inline_bytes_min = 16;

// For a registration: out_of_memory, with the limit of locked memory; permission: the memory cannot be accessed that
// way.
[[nodiscard]] Error registration_error(int os_errno);
// For an id of the connection manager or a queue pair: out_of_memory, with that limit; permission; overloaded: the
// device or the process has no more of them; unsupported: the device has none of that kind; io.
[[nodiscard]] Error connection_error(int os_errno);

}  // namespace cinnabar::verbs
