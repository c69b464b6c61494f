// SPDX-License-Identifier: BSD-3-Clause
// The server's side of `serve --group`: the server joins a group, and a label says that it saves files.
#pragma once

#include "commands/commands.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace cinnabar::tools::group_files {

// The label of members that save files; its value is the identity of their root.
inline constexpr std::string_view save_label = "save";

// Checks the addresses to listen on. With --group, each address must be of a transport that verifies the identity of
// its peers, or that admits only processes of this user on this host, because the group's RPCs do not ask for the key
// that clients of the save service prove. With --insecure and without a key, any address will do, because the save
// service is open to all as well. invalid_argument, bad_address: the subject is the address.
[[nodiscard]] Result<void> check_group(const ServeOptions& options);

// Returns the policy for callers of the group's RPCs, from --members. Null: everyone who can connect may call the
// group's RPCs. Other RPCs are not affected. invalid_argument: a caller cannot be parsed.
[[nodiscard]] Result<std::shared_ptr<const rpc::Policy>> group_policy(const ServeOptions& options);

// Joins the group and returns the node's membership; empty without --group. Blocks until the server has joined. Errors:
// those of identity_of_root(), read_roster() and Group.
[[nodiscard]] Result<std::optional<cinnabar::group::Group>> become_member(const ServeOptions& options,
                                                                          const hl::Node& node,
                                                                          const Interrupt& interrupt);

}  // namespace cinnabar::tools::group_files
