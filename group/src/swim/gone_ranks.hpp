// SPDX-License-Identifier: BSD-3-Clause
// GoneRanks: since when each rank has had no member, as far as this process knows, so that the rank can be given to
// another process (SwimOptions::reuse_ranks_after).
#pragma once

#include "swim/table.hpp"

#include <cinnabar/base/clock.hpp>

#include <map>

namespace cinnabar::group {

class GoneRanks {
  public:
    // Sets how long a rank must be gone before it is given again. Before the first call, and with a span of 0, no rank
    // is given again, and no gone rank is remembered.
    void give_again_after(Microseconds span) noexcept { span_us_ = static_cast<TimeUs>(span.count()); }
    [[nodiscard]] bool gives_again() const noexcept { return span_us_ != 0; }

    // Call it when the table's entry of a rank has changed.
    void note(Rank rank, const Entry& before, const Entry& now, TimeUs when) {
        if (!gives_again()) return;
        const bool has_next = is_life(first_life_of(holder_of(now.incarnation) + 1));
        if (!now.known() || now.present() || !has_next) {
            since_.erase(rank);
        } else if (!before.known() || before.present() || before.incarnation != now.incarnation) {
            since_.insert_or_assign(rank, when);
        }
    }
    // Call when this process was stopped from `from` to `until`, and so does not know what happened meanwhile. The time
    // in between does not count, and no rank is given again until `hold` after `until`, so that this process can hear
    // what it missed.
    void pass_over(TimeUs from, TimeUs until, Microseconds hold) noexcept {
        for (auto& [rank, since] : since_) since += until - from;
        not_before_us_ = until + static_cast<TimeUs>(hold.count());
    }
    // Returns the rank that has been gone for longest, among the ranks from `first` on that have been gone for at least
    // the span of give_again_after(). no_rank: there is none.
    [[nodiscard]] Rank longest(Rank first, TimeUs now) const noexcept {
        if (now < not_before_us_) return no_rank;
        Rank found = no_rank;
        TimeUs earliest = time_never;
        for (auto each = since_.lower_bound(first); each != since_.end(); ++each) {
            if (each->second >= earliest || now < each->second + span_us_) continue;
            found = each->first;
            earliest = each->second;
        }
        return found;
    }

  private:
    TimeUs span_us_ = 0;
    TimeUs not_before_us_ = 0;
    std::map<Rank, TimeUs> since_;
};

}  // namespace cinnabar::group
