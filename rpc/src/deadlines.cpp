// SPDX-License-Identifier: BSD-3-Clause
// Where deadlines of calls fire. Calls whose deadlines ascend share one timer (watch_deadline in call.cpp); any other
// call has a timer of its own, and so has a call whose result is being pulled (stall.cpp). A request has none: its
// handler asks, and a transfer under it gets its deadline.
#include "context_core.hpp"

namespace cinnabar::rpc {

void ContextCore::look_at_deadlines() noexcept {
    const TimeUs now = na->now_us();
    for (Call* first = deadlines.front(); first; first = deadlines.front()) {
        if (first->args.deadline > now) return na->arm(first_deadline, first->args.deadline);
        note_phase(*first);
        finish(*first, Errc::timed_out);
    }
}

}  // namespace cinnabar::rpc
