// SPDX-License-Identifier: BSD-3-Clause
// How the members of a collective call are laid out as a tree. Pure functions: whoever takes over the subtree of a
// member that died divides it exactly as that member did.
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

// What `automatic` means for so many members and bytes.
[[nodiscard]] CINNABAR_API Shape shape_for(Tree wanted, unsigned fanout, std::size_t members, std::size_t bytes);

// The same for a broadcast of so many bytes that move in chunks: what takes the least time where each process sends at
// one rate.
[[nodiscard]] CINNABAR_API Shape bulk_shape_for(Tree wanted, unsigned fanout, std::size_t members, std::uint64_t bytes,
                                                std::uint64_t chunk_bytes);

struct Branch {
    Rank child;
    std::vector<Rank> below;  // the child's own part
};
// Each of `ranks` is in one branch, as its child or below it.
[[nodiscard]] CINNABAR_API std::vector<Branch> branches_of(std::span<const Rank> ranks, Shape shape);

[[nodiscard]] CINNABAR_API std::vector<RankRun> runs_of(std::span<const Rank> ranks);
// None if they would be more than `ranks_max`, or a rank comes twice.
[[nodiscard]] CINNABAR_API std::optional<std::vector<Rank>> ranks_of(std::span<const RankRun> runs,
                                                                     std::size_t ranks_max);

}  // namespace cinnabar::group
