// SPDX-License-Identifier: BSD-3-Clause
// Excludes members that were suspected for too long: from here on they count as dead.
#include "swim/swim.hpp"

#include <vector>

namespace cinnabar::group {

void Swim::expire_suspicions(TimeUs now) {
    std::vector<Rank> due = suspicions_.due(now);
    if (due.empty()) return;
    if (cut_off(now) && cut_off_since_us_ == time_never) {
        // Extends the time by no more than double, since all others may really be dead.
        cut_off_since_us_ = now;
        suspicions_.extend(now);
        due = suspicions_.due(now);
    }
    for (const Rank rank : due) {
        suspicions_.end(rank);
        Entry entry = table_.at(rank);
        entry.state = State::excluded;
        last_change_us_ = now;
        put(rank, entry, false);
    }
}

}  // namespace cinnabar::group
