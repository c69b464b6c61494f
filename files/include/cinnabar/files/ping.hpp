// SPDX-License-Identifier: BSD-3-Clause
// An RPC that every server of the save service answers, for any caller.
#pragma once

#include <cinnabar/hl/rpc.hpp>

#include <cstdint>

namespace cinnabar::files {

// Returns its argument.
inline constexpr hl::Rpc<std::uint64_t(std::uint64_t)> ping_rpc{"cinnabar.ping"};

}  // namespace cinnabar::files
