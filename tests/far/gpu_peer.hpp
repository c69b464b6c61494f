// SPDX-License-Identifier: BSD-3-Clause
// The calls of the second process with device memory (gpu_peer.cpp), and the call that it makes to its caller.
#pragma once

#include <cinnabar/cinnabar.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::test {

inline constexpr Rpc<void(std::uint64_t)> peer_allocate{"gpu_peer.allocate"};  // so many bytes, replacing the last
inline constexpr Rpc<void(std::uint64_t)> peer_fill{"gpu_peer.fill"};          // with the given pattern
inline constexpr Rpc<bool(std::uint64_t)> peer_holds{"gpu_peer.holds"};
inline constexpr Rpc<std::uint64_t(Bulk)> peer_pull{"gpu_peer.pull"};  // into its memory, as much as is lent
inline constexpr Rpc<std::uint64_t(Bulk)> peer_push{"gpu_peer.push"};
// Lends its memory in a call of `move_back` to the caller.
inline constexpr Rpc<std::uint64_t()> peer_lend{"gpu_peer.lend"};
inline constexpr Rpc<std::uint64_t(Bulk)> move_back{"gpu_peer.move_back"};
inline constexpr Rpc<std::uint64_t()> peer_stops{"gpu_peer.stops"};  // how many of its pulls were stopped

// Only with the simulated driver: see fake_cuda.hpp.
inline constexpr Rpc<void(bool)> peer_hold{"gpu_peer.hold"};
inline constexpr Rpc<std::uint64_t()> peer_held{"gpu_peer.held"};
inline constexpr Rpc<void(std::string, int, int)> peer_fail{"gpu_peer.fail"};
inline constexpr Rpc<std::vector<std::int64_t>()> peer_counts{"gpu_peer.counts"};  // breaches, opened, opens

}  // namespace cinnabar::test
