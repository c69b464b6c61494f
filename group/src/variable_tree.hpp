// SPDX-License-Identifier: BSD-3-Clause
// The position of a process in the tree of a key: which member it asks for the value. Pure functions of the view.
//
// The root is the present member with the largest hash of key and rank, so that when a member leaves or joins, only the
// keys of that member get another root.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/view.hpp>

#include <limits>
#include <string_view>

namespace cinnabar::group {

// Identifies one uninterrupted period in which a member is the root. Two Reigns of one member differ if another member
// was the root in between: that member has a larger hash, and its life is counted in lives_above.
struct Reign {
    Rank root = no_rank;
    std::uint32_t incarnation = 0;  // incarnation of the root; 0: there is no member
    std::uint64_t lives_above = 0;  // number of lives of all members with a larger hash, including those that are gone
    friend bool operator==(const Reign&, const Reign&) = default;
};

struct TreePosition {
    static constexpr unsigned outside = std::numeric_limits<unsigned>::max() - 1;  // the depth of a follower

    Reign reign;
    Rank parent = no_rank;  // the member to ask; no_rank: this process is the root, or there is no member
    unsigned depth = 0;     // 0: the root
    [[nodiscard]] bool is_root() const noexcept { return depth == 0; }
};

// `self` no_rank: a follower, which asks one of the members, chosen by `process`.
[[nodiscard]] CINNABAR_API TreePosition position_of(std::string_view key, const View& view, Rank self,
                                                    std::uint64_t process);

}  // namespace cinnabar::group
