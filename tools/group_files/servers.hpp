// SPDX-License-Identifier: BSD-3-Clause
// The save servers of a group, as a client learns them from any member.
#pragma once

#include "commands/commands.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/view.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cinnabar::tools::group_files {

struct Server {
    std::string identity;  // of its root
    std::string address;
    // Whether this server must prove its identity by its transport, or prove a key. Set if the member that named this
    // server has proven its own identity by its transport; otherwise that member could send clients to a stranger.
    bool must_prove = false;
};

inline constexpr std::size_t servers_max = 1024;

// Returns the present members that save files. A root has one server at a time, and a server has one root; so if
// several members have the same identity or address, only the last member to join counts. too_large: more than
// servers_max members save files. A pure function.
[[nodiscard]] Result<std::vector<Server>> servers_in(const cinnabar::group::View& view);

// Asks the members in turn until one answers, and returns the servers that it names. unsupported: no member of the
// group saves files. Also the errors of servers_in() and, with hints, of reach() and Group::follow().
[[nodiscard]] Result<std::vector<Server>> find_servers(const GroupAddress& group, const SessionOptions& options,
                                                       const Interrupt& interrupt);

// The identities by which files are placed.
[[nodiscard]] std::vector<std::string> identities_of(const std::vector<Server>& servers);

// Returns the folder in the URIs of --group. bad_address: a URI cannot be parsed, or two URIs name different folders.
[[nodiscard]] Result<std::string> folder_of(const GroupAddress& group);

}  // namespace cinnabar::tools::group_files
