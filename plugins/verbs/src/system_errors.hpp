// SPDX-License-Identifier: BSD-3-Clause
// What it means, and what to do about it, when the system or the device refuses something. Pure, but for the limit of
// locked memory, which is asked for.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>

namespace cinnabar::verbs {

// What goes to the device with its bytes in any case: the header of a message that is nothing else.
inline constexpr std::uint32_t inline_bytes_min = 16;

// For a registration: out_of_memory with what the limit of locked memory is, permission for memory that may not be
// touched that way.
[[nodiscard]] Error registration_error(int os_errno);
// For an id of the connection manager or a queue pair: out_of_memory, with that limit as well, permission, overloaded
// where the device or the process has no more of them, unsupported where the device makes none of that kind, io.
[[nodiscard]] Error connection_error(int os_errno);

}  // namespace cinnabar::verbs
