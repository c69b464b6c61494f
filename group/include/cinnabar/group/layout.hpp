// SPDX-License-Identifier: BSD-3-Clause
// The tree of a collective call to all members of a view, for display.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/collective.hpp>
#include <cinnabar/group/view.hpp>

#include <cstddef>
#include <vector>

namespace cinnabar::group {

struct Placed {
    Rank rank = no_rank;
    Rank above = no_rank;  // the member that calls it; no_rank: the caller itself
    unsigned depth = 0;    // 0: called by the caller itself
};

// Returns the tree of a call with `bytes` bytes of arguments by a caller that is not a member: each present member
// once, after the member that calls it. If a member makes the call, that member is not in the tree itself, so the tree
// looks slightly different.
[[nodiscard]] CINNABAR_API std::vector<Placed> layout_of(const View& view, Tree tree = Tree::automatic,
                                                         unsigned fanout = 0, std::size_t bytes = 0);

}  // namespace cinnabar::group
