// SPDX-License-Identifier: BSD-3-Clause
// Where a process stands in the tree of a key: whom it asks for the value. Pure functions of the view.
//
// The root is the present member with the largest hash of key and rank, so that only the keys of a member that goes, or
// comes, get another root.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/view.hpp>

#include <limits>
#include <string_view>

namespace cinnabar::group {

// One uninterrupted time as the root. It differs if another member was the root in between: one with a larger hash that
// has come and gone since has had another life.
struct Reign {
    Rank root = no_rank;
    std::uint32_t incarnation = 0;  // of the root; 0: there is no member
    std::uint64_t lives_above = 0;  // the lives of all members with a larger hash, those that are gone included
    friend bool operator==(const Reign&, const Reign&) = default;
};

struct Place {
    static constexpr unsigned outside = std::numeric_limits<unsigned>::max() - 1;  // the depth of a follower

    Reign reign;
    Rank parent = no_rank;  // the member to ask; no_rank: this process is the root, or there is no member
    unsigned depth = 0;     // 0: the root
    [[nodiscard]] bool is_root() const noexcept { return depth == 0; }
};

// `self` no_rank: a follower, which asks one of the members; `process` chooses which.
[[nodiscard]] CINNABAR_API Place place_of(std::string_view key, const View& view, Rank self, std::uint64_t process);

}  // namespace cinnabar::group
