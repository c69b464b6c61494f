// SPDX-License-Identifier: BSD-3-Clause
// Chooses the servers of a group that get a file, by rendezvous hashing. Each pair of a server and a file name has a
// weight; the copies of a file go to the servers with the largest weights. So all clients agree without a table, and
// when a server joins or leaves, only the files that this server gets or had are placed elsewhere. Pure functions. The
// results must never change, since clients find saved files by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::group_files {

[[nodiscard]] std::uint64_t weight_of(std::string_view server, std::string_view name) noexcept;

// Returns indices into `servers`, the largest weight first. The order of `servers` matters only if two are equal.
[[nodiscard]] std::vector<std::size_t> placement_of(std::string_view name, std::span<const std::string> servers);

}  // namespace cinnabar::tools::group_files
