// SPDX-License-Identifier: BSD-3-Clause
// The calls of the perf service, as both sides share them. An echo for calls; for bulk an arena, memory of the server
// that one client has for a while, into which it is moved and out of which it is moved back, slot by slot. What is
// moved is checked by calls of their own, so that checking takes no part in what is timed.
#pragma once

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

inline constexpr std::uint32_t protocol_version = 1;

// Answers with the bytes that came. Served below hl, since it is what rates are measured with.
inline constexpr const char* echo_name = "cinnabar.perf.echo";
inline constexpr rpc::RpcId echo_id = rpc::rpc_id("cinnabar.perf.echo");

struct AboutOut {
    std::uint32_t version = 0;  // of this protocol
    std::string release;        // of the library
    std::string host;
    std::uint32_t contexts = 0;
    std::uint64_t arena_bytes_max = 0;
};
inline constexpr hl::Rpc<AboutOut()> about_rpc{"cinnabar.perf.about"};

// An arena of `slots` slots of `slot_bytes` each. It lives as long as the `hold` call on it, which must come soon.
struct OpenIn {
    std::uint64_t slot_bytes = 0;
    std::uint32_t slots = 0;
};
struct OpenOut {
    std::uint64_t arena = 0;
};
inline constexpr hl::Rpc<OpenOut(OpenIn)> open_rpc{"cinnabar.perf.open"};

struct HoldIn {
    std::uint64_t arena = 0;
};
inline constexpr hl::Rpc<void(HoldIn)> hold_rpc{"cinnabar.perf.hold"};

// Slot `i` gets the pattern of seed + i, or is looked at whether it has that.
struct SlotsIn {
    std::uint64_t arena = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t seed = 0;
};
struct CheckOut {
    std::vector<std::uint32_t> wrong;  // slots with other bytes
};
inline constexpr hl::Rpc<void(SlotsIn)> fill_rpc{"cinnabar.perf.fill"};
inline constexpr hl::Rpc<CheckOut(SlotsIn)> check_rpc{"cinnabar.perf.check"};

// The server pulls the client's memory into a slot, or pushes the slot to it; all of it.
struct MoveIn {
    std::uint64_t arena = 0;
    std::uint32_t slot = 0;
    bool push = false;
    hl::Bulk memory;
};
struct MoveOut {
    std::uint64_t bytes = 0;
};
inline constexpr hl::Rpc<MoveOut(MoveIn)> move_rpc{"cinnabar.perf.move"};

}  // namespace cinnabar::tools::perf
