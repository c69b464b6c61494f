// SPDX-License-Identifier: BSD-3-Clause
// How a collective call of all members of a view spreads, for people who look at it.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/collective.hpp>
#include <cinnabar/group/view.hpp>

#include <cstddef>
#include <vector>

namespace cinnabar::group {

struct Placed {
    Rank rank = no_rank;
    Rank above = no_rank;  // who calls it; no_rank: the caller itself
    unsigned depth = 0;    // 0: called by the caller itself
};

// Each present member once, each behind the one that calls it, for a call of somebody who is no member with arguments
// of so many bytes. A member that calls is left out of its own call's tree, so that looks a little different.
[[nodiscard]] CINNABAR_API std::vector<Placed> layout_of(const View& view, Tree tree = Tree::automatic,
                                                         unsigned fanout = 0, std::size_t bytes = 0);

}  // namespace cinnabar::group
