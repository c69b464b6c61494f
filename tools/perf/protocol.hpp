// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of the perf service, shared by client and server: an echo for calls, and an arena for bulk transfers. An
// arena is memory that the server reserves for one client; transfers fill and read the slots of the arena. Separate
// calls verify the data, so that verification is not part of the timed work.
#pragma once

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

inline constexpr std::uint32_t protocol_version = 1;

// Answers with the request's bytes. Served below hl, since call rates are measured with it.
inline constexpr const char* echo_name = "cinnabar.perf.echo";
inline constexpr rpc::RpcId echo_id = rpc::rpc_id("cinnabar.perf.echo");

struct AboutOut {
    std::uint32_t version = 0;  // version of this protocol
    std::string release;        // version of the library
    std::string host;
    std::uint32_t contexts = 0;
    std::uint64_t arena_bytes_max = 0;
};
inline constexpr hl::Rpc<AboutOut()> about_rpc{"cinnabar.perf.about"};

// Reserves an arena of `slots` slots of `slot_bytes` each. The client must soon make a `hold` call for the arena, which
// exists until that call ends.
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

// Slot `i` is filled with the pattern of seed + i, or is checked against it.
struct SlotsIn {
    std::uint64_t arena = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t seed = 0;
};
struct CheckOut {
    std::vector<std::uint32_t> wrong;  // slots whose bytes differ
};
inline constexpr hl::Rpc<void(SlotsIn)> fill_rpc{"cinnabar.perf.fill"};
inline constexpr hl::Rpc<CheckOut(SlotsIn)> check_rpc{"cinnabar.perf.check"};

// The server pulls the client's memory into a slot, or pushes the slot to it; always the whole slot.
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
