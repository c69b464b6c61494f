// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/group/view.hpp>

#include <algorithm>

namespace cinnabar::group {

View::View(Stamp stamp, std::vector<Member> members) : stamp_(stamp) {
    std::vector<Rank> present;
    present.reserve(members.size());
    for (const Member& member : members) {
        if (is_present(member.state)) present.push_back(member.rank);
    }
    members_ = std::make_shared<const std::vector<Member>>(std::move(members));
    present_ = std::make_shared<const std::vector<Rank>>(std::move(present));
}

const Member* View::find(Rank rank) const noexcept {
    const auto at = std::lower_bound(members_->begin(), members_->end(), rank,
                                     [](const Member& member, Rank wanted) { return member.rank < wanted; });
    return at != members_->end() && at->rank == rank ? &*at : nullptr;
}

}  // namespace cinnabar::group
