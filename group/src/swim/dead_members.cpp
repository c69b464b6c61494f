// SPDX-License-Identifier: BSD-3-Clause
// Decides that a member is gone: a member that was suspected for too long has died, or, if others said so, has left.
// Also excludes a member at the request of this member's program.
#include "swim/swim.hpp"

#include <vector>

namespace cinnabar::group {
namespace {

Entry with_state(Entry entry, State state) {
    entry.state = state;
    return entry;
}

}  // namespace

void Swim::expire_suspicions(TimeUs now) {
    std::vector<Rank> due = suspicions_.due(now);
    if (due.empty()) return;
    // Nothing was heard for so long that this member, rather than all others, is likely to be at fault.
    const bool cut_off = table_.present() > 2 && now > last_heard_us_ + 2 * period_us();
    if (cut_off && cut_off_since_us_ == time_never) {
        // Extends the time by no more than double, since all others may really be dead.
        cut_off_since_us_ = now;
        suspicions_.extend(now);
        due = suspicions_.due(now);
    }
    for (const Rank rank : due) {
        const State state = suspicions_.leaves(rank) ? State::left : State::excluded;
        suspicions_.end(rank);
        last_change_us_ = now;
        put(rank, with_state(table_.at(rank), state), false);
    }
}

// If the message is lost, the member hears of its exclusion the next time that this one pings it or answers its ping.
void Swim::exclude(Rank rank, TimeUs now, Outbox& out) {
    suspicions_.end(rank);
    last_change_us_ = now;
    put(rank, with_state(table_.at(rank), State::excluded), false);
    out.push_back(make(Kind::sync_push, rank, rank, 0));
    out.back().claims.push_back(table_.claim(rank, false));
}

}  // namespace cinnabar::group
