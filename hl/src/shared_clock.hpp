// SPDX-License-Identifier: BSD-3-Clause
// Loops on a simulated clock. Its time advances only when no context of the network has anything to do, so driving one
// loop drives all of them. Such loops have no threads; their nodes are used by one thread at a time.
#pragma once

#include <cinnabar/base/clock.hpp>

namespace cinnabar::hl {

class Loop;

void join_clock(Loop& loop);
void leave_clock(Loop& loop) noexcept;
// Drives all loops that share this loop's clock once. Time advances to the next event, but by `timeout` at most. When a
// handler calls this, and so recursively, only this loop is driven.
void drive_clock(Loop& loop, Microseconds timeout);

}  // namespace cinnabar::hl
