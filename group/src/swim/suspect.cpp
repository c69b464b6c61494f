// SPDX-License-Identifier: BSD-3-Clause
// Begins or confirms the suspicion of a member, and spreads it.
#include "swim/swim.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace cinnabar::group {

// Suspects the member, or confirms the suspicion. If others say that a member has left, the member is suspected, too,
// and has time to refute this, because the claim may be a lie, like a claim about a death. Such a suspicion names the
// member itself as `by`, so that all who hear of the suspicion know how it ends.
void Swim::suspect(Rank rank, Rank by, unsigned confirmations, TimeUs now) {
    Entry entry = table_.at(rank);
    if (entry.state == State::suspect) {
        if (confirmations != 0) suspicions_.hasten(rank);
        const bool leaves_now = by == rank && suspicions_.note_leave(rank);
        if (!suspicions_.confirm(rank, by) && !leaves_now) return;
    } else {
        const double scale = std::max(1.0, std::log10(static_cast<double>(table_.present())));
        const double shortest = options_.suspicion_min * scale * static_cast<double>(options_.period.count());
        const SuspicionTimes::Limits limits{static_cast<TimeUs>(shortest),
                                            static_cast<TimeUs>(shortest * std::max(options_.suspicion_spread, 1u))};
        const auto others = static_cast<unsigned>(std::min<std::size_t>(table_.present(), 100));
        suspicions_.begin(rank, by, limits, others > 2 ? others - 2 : 0, now);
        if (confirmations != 0) suspicions_.hasten(rank);
        if (by == rank) (void)suspicions_.note_leave(rank);
        entry.state = State::suspect;
        put(rank, entry, false);
        // Some members ping the suspect, so that it hears of the suspicion soon and can refute it.
        constexpr std::size_t askers = 8;
        if (by == self_.rank || confirmations != 0 || random_.below(table_.present()) < askers) doubt(rank);
    }
    gossip_.add(rank, entry.incarnation, false, suspicions_.leaves(rank) ? rank : by);
}

}  // namespace cinnabar::group
