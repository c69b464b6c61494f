// SPDX-License-Identifier: BSD-3-Clause
// A call that every server of the save service answers, to whoever asks.
#pragma once

#include <cinnabar/hl/rpc.hpp>

#include <cstdint>

namespace cinnabar::files {

// Gives the number back.
inline constexpr hl::Rpc<std::uint64_t(std::uint64_t)> ping_rpc{"cinnabar.ping"};

}  // namespace cinnabar::files
