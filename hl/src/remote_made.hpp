// SPDX-License-Identifier: BSD-3-Clause
// What the makers of remote operations have in common: who is called, and what is refused before anybody is.
#pragma once

#include "remote_contracts.hpp"
#include "remote_table.hpp"

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/remote_call.hpp>

#include <optional>
#include <utility>

namespace cinnabar::hl::detail {

[[nodiscard]] CallOptions call_options_of(const RemoteOptions& options) noexcept;
// A node calls itself for its own memory, whether it listens or not.
[[nodiscard]] na::Addr target_of(const NodeRef& node, const RemoteBytes& token, const RemoteOptions& options);
// Why the token does not do for so many bytes of this side.
[[nodiscard]] std::optional<Error> refusal(const RemoteBytes& token, const na::Addr& target, std::uint64_t bytes,
                                           na::Access access);
[[nodiscard]] bool not_followed(const RemoteBytes& token, const RemoteOptions& options) noexcept;
// A call to nobody, which ends with that error.
[[nodiscard]] RemoteMade refused_call(const NodeRef& node, Error error);

// Calls with these arguments, or a call to nobody if it is refused.
template <typename R, typename In>
[[nodiscard]] RemoteMade made(const NodeRef& node, const R& rpc, const RemoteBytes& token, std::uint64_t bytes,
                              na::Access access, const RemoteOptions& options, const In& arguments) {
    const na::Addr target = target_of(node, token, options);
    std::optional<Error> refused = refusal(token, target, bytes, access);
    const CallOptions call_options = call_options_of(options);
    return {node.call(rpc, refused ? na::Addr() : target, arguments, call_options), std::move(refused),
            not_followed(token, options)};
}

}  // namespace cinnabar::hl::detail
