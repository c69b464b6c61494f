// SPDX-License-Identifier: BSD-3-Clause
// The messages of failure detection. docs/groups.md describes the protocol.
#pragma once

#include "swim/table.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace cinnabar::group {

enum class Kind : std::uint8_t {
    ping,          // answer if you are alive
    ack,           // `about` is alive
    ping_request,  // ping `about` for me
    nack,          // `about` has not answered me, but I am alive
    sync,          // my digests: send me the claims that I lack
    sync_answer,   // claims, and my digests
    sync_push,     // claims that you lacked
};
inline constexpr std::uint8_t kinds = 7;

struct Message {
    std::uint64_t group = 0;
    Kind kind = Kind::ping;
    Rank from = no_rank;
    std::uint32_t from_incarnation = 0;
    Rank to = no_rank;
    Rank about = no_rank;
    std::uint32_t sequence = 0;
    Stamp stamp;
    std::vector<Claim> claims;
    std::vector<std::uint64_t> digests;  // Table::buckets of them, or none
    std::uint64_t time = 0;              // of the sender's hybrid clock
};

inline constexpr std::size_t claims_max = 64;  // per message

[[nodiscard]] inline bool well_formed(const Message& message) noexcept {
    return static_cast<std::uint8_t>(message.kind) < kinds && message.claims.size() <= claims_max &&
           (message.digests.empty() || message.digests.size() == Table::buckets);
}

}  // namespace cinnabar::group
