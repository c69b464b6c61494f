// SPDX-License-Identifier: BSD-3-Clause
// RPC ids: 64-bit hashes of names, computed at compile time. If two names have the same id, serving the second one
// fails.
#pragma once

#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

using RpcId = std::uint64_t;

// Distinguishes several services of one kind at the same address; usually 0.
using ProviderId = std::uint16_t;

// FNV-1a, 64 bits; part of the wire format.
[[nodiscard]] constexpr RpcId rpc_id(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

// The position of a call in a trace, for tracing tools: a trace id and the span that made the call. This layer passes
// the position on unchanged. All zero: none.
struct TraceContext {
    std::uint64_t id[2] = {0, 0};
    std::uint64_t span = 0;

    explicit operator bool() const noexcept { return (id[0] | id[1]) != 0; }
    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Whether somebody records the trace. Two bytes wide, to fill a gap of CallArgs, which is reset for each call.
enum class Sampled : std::uint16_t { yes, no };

}  // namespace cinnabar::rpc
