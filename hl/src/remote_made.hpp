// SPDX-License-Identifier: BSD-3-Clause
// Shared by the functions that make remote operations: finds the target, and refuses invalid operations before anything
// is sent.
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
// The reason why the token cannot be used with `bytes` of local memory, if there is one.
[[nodiscard]] std::optional<Error> refusal(const RemoteBytes& token, const na::Addr& target, std::uint64_t bytes,
                                           na::Access access);
[[nodiscard]] bool not_followed(const RemoteBytes& token, const RemoteOptions& options) noexcept;
// The error of a write with a notification that would take several calls.
[[nodiscard]] Error too_many_to_notify();
// The error of a checked read into a region that cannot be read back, if it is one.
[[nodiscard]] std::optional<Error> not_read_back(const bulk::Region& into);
// The error of a checked write from far memory.
[[nodiscard]] Error no_sums_of_far_memory();
// A call without a target, which ends with `error`.
[[nodiscard]] RemoteMade refused_call(const NodeRef& node, Error error);

// A call with these arguments, or one without a target if it is refused.
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
