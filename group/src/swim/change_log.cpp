// SPDX-License-Identifier: BSD-3-Clause
#include "swim/change_log.hpp"

namespace cinnabar::group {

void ChangeLog::note(Rank rank, const Entry& before, const Entry& now) {
    const bool again = before.incarnation != now.incarnation || before.process != now.process;
    const auto add = [&](Happened happened) { changes_.push_back({happened, rank, now.incarnation}); };
    switch (now.state) {
        case State::alive:
            if (again) add(Happened::joined);
            if (!again && before.state == State::suspect) add(Happened::trusted);
            break;
        case State::suspect:
            if (before.state == State::alive) add(Happened::suspected);
            break;
        case State::left:
            add(Happened::left);
            break;
        case State::excluded:
            add(Happened::excluded);
            break;
    }
}

}  // namespace cinnabar::group
