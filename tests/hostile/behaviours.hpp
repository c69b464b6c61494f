// SPDX-License-Identifier: BSD-3-Clause
// What a rude peer may do to a server: one behaviour each, executed step by step.
#pragma once

#include "rude_peer.hpp"

#include <ostream>
#include <span>
#include <string_view>

namespace cinnabar::hostile {

// The RPCs that its servers serve: answered at once with nothing; held until the server releases it; answered with a
// large result; pulled from the descriptor in the arguments.
inline constexpr rpc::RpcId answered = rpc::rpc_id("answered");
inline constexpr rpc::RpcId held = rpc::rpc_id("held");
inline constexpr rpc::RpcId large_result = rpc::rpc_id("large result");
inline constexpr rpc::RpcId pulled = rpc::rpc_id("pulled");

struct Behaviour {
    const char* name;
    // Whether it reads what is sent to it. Otherwise everything stays in the network.
    bool reads;
    void (*step)(RudePeer& peer, unsigned step);
    bool lends = false;
};
inline std::ostream& operator<<(std::ostream& out, const Behaviour& behaviour) { return out << behaviour.name; }

[[nodiscard]] std::span<const Behaviour> behaviours() noexcept;
// Null: there is none of that name.
[[nodiscard]] const Behaviour* behaviour(std::string_view name) noexcept;
// Not hostile: it asks for as much as the hostile ones, but reads every answer.
[[nodiscard]] const Behaviour& busy_and_honest() noexcept;
// The same, and it lends as much as is allowed.
[[nodiscard]] const Behaviour& busy_and_lending() noexcept;

}  // namespace cinnabar::hostile
