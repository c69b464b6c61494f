// SPDX-License-Identifier: BSD-3-Clause
// Arranges the members of a collective call as a tree. Pure functions: a process that takes over the subtree of a dead
// member divides it exactly as that member did.
#pragma once

#include "wire.hpp"

#include <cinnabar/base/export.hpp>

#include <optional>
#include <span>
#include <vector>

namespace cinnabar::group {

struct Shape {
    Tree tree = Tree::flat;
    unsigned fanout = 4;
};

// Resolves `automatic` for that many members and bytes.
[[nodiscard]] CINNABAR_API Shape shape_for(Tree wanted, unsigned fanout, std::size_t members, std::size_t bytes);

// Resolves `automatic` for a broadcast whose bytes move in chunks: the shape that takes the least time if all processes
// send at the same rate.
[[nodiscard]] CINNABAR_API Shape bulk_shape_for(Tree wanted, unsigned fanout, std::size_t members, std::uint64_t bytes,
                                                std::uint64_t chunk_bytes);

struct Branch {
    Rank child;
    std::vector<Rank> below;  // the members below this child
};
// Puts each of `ranks` into exactly one branch, as its child or below it.
[[nodiscard]] CINNABAR_API std::vector<Branch> branches_of(std::span<const Rank> ranks, Shape shape);

[[nodiscard]] CINNABAR_API std::vector<RankRun> runs_of(std::span<const Rank> ranks);
// Empty if there would be more than `ranks_max`, or a rank occurs twice.
[[nodiscard]] CINNABAR_API std::optional<std::vector<Rank>> ranks_of(std::span<const RankRun> runs,
                                                                     std::size_t ranks_max);

// Adds a rank, above all that are in `runs`. Holder 0 is left out.
CINNABAR_API void add_holder(std::vector<HolderRun>& runs, Rank rank, std::uint32_t holder);
// Whether the ranks of the runs ascend; those of a peer that lies may not.
[[nodiscard]] CINNABAR_API bool is_ascending(std::span<const HolderRun> runs) noexcept;
// The holder of the rank according to `runs`. Requires: is_ascending(runs).
[[nodiscard]] CINNABAR_API std::uint32_t holder_in(std::span<const HolderRun> runs, Rank rank) noexcept;

}  // namespace cinnabar::group
