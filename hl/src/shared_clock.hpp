// SPDX-License-Identifier: BSD-3-Clause
// Loops on a simulated clock. Simulated time advances only when no context of the network has anything to do, so
// driving one loop drives all loops of the clock. Such loops have no threads; one thread at a time uses their nodes.
#pragma once

#include <cinnabar/base/clock.hpp>

namespace cinnabar::hl {

class Loop;

void join_clock(Loop& loop);
void leave_clock(Loop& loop) noexcept;
// Drives once all loops that share this loop's clock. Time advances to the next event, but by `timeout` at most. When a
// handler calls drive_clock(), which makes the call recursive, only this loop is driven.
void drive_clock(Loop& loop, Microseconds timeout);

}  // namespace cinnabar::hl
