// SPDX-License-Identifier: BSD-3-Clause
// Names of calls as 64-bit ids, made at compile time. Two names with one id are found when the second is served.
#pragma once

#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

using RpcId = std::uint64_t;

// Several services of one kind at one address are told apart by a provider id; 0 is the usual one.
using ProviderId = std::uint16_t;

// FNV-1a, 64 bits; part of the wire format.
[[nodiscard]] constexpr RpcId rpc_id(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

// Where a call belongs in a trace, for whoever records one: a trace id and the span that made the call. It travels as
// it is and means nothing here. All zero: none.
struct TraceContext {
    std::uint64_t id[2] = {0, 0};
    std::uint64_t span = 0;

    explicit operator bool() const noexcept { return (id[0] | id[1]) != 0; }
    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

}  // namespace cinnabar::rpc
