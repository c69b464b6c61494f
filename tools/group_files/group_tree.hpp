// SPDX-License-Identifier: BSD-3-Clause
// Folders of a group: the entries of all servers, merged. One thread.
#pragma once

#include "commands/commands.hpp"
#include "commands/tree_plan.hpp"
#include "group_files/every_server.hpp"
#include "group_files/union.hpp"

#include <cinnabar/files/attributes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::tools::group_files {

struct GroupTree {
    FetchedTree where;
    Union entries = {};                 // by their paths below the folder
    files::Attributes attributes = {};  // of the newest copy of the folder itself
    std::size_t servers = 0;            // number of servers that have the folder
    std::uint64_t filtered = 0;         // entries that the filter rejects, at the server with the most
};

// Walks the folders at each server. Reports subfolders that could not be listed, and servers that are lost.
[[nodiscard]] Asked walk_at_every_server(std::vector<GroupTree>& trees, const std::vector<Server>& servers,
                                         const FetchOptions& options, const Interrupt& interrupt, Report& report);

}  // namespace cinnabar::tools::group_files
