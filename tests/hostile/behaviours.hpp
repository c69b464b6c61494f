// SPDX-License-Identifier: BSD-3-Clause
// What a rude peer may do to a server, one thing each, a step at a time.
#pragma once

#include "rude_peer.hpp"

#include <ostream>
#include <span>
#include <string_view>

namespace cinnabar::hostile {

// What its servers serve for it: answered at once with nothing, held until the server likes, a large result, pulled
// from the descriptor in its arguments.
inline constexpr rpc::RpcId answered = rpc::rpc_id("answered");
inline constexpr rpc::RpcId held = rpc::rpc_id("held");
inline constexpr rpc::RpcId large_result = rpc::rpc_id("large result");
inline constexpr rpc::RpcId pulled = rpc::rpc_id("pulled");

struct Behaviour {
    const char* name;
    // Whether it reads what it is sent. One that does not leaves everything in the network.
    bool reads;
    void (*step)(RudePeer& peer, unsigned step);
    bool lends = false;
};
inline std::ostream& operator<<(std::ostream& out, const Behaviour& behaviour) { return out << behaviour.name; }

[[nodiscard]] std::span<const Behaviour> behaviours() noexcept;
// Null: there is none of that name.
[[nodiscard]] const Behaviour* behaviour(std::string_view name) noexcept;
// No hostile one: it asks for as much as the others, and reads every answer.
[[nodiscard]] const Behaviour& busy_and_honest() noexcept;
// The same, and lends as much as it is let.
[[nodiscard]] const Behaviour& busy_and_lending() noexcept;

}  // namespace cinnabar::hostile
