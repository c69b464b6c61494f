// SPDX-License-Identifier: BSD-3-Clause
// Loops on a simulated clock. Its time moves only when all contexts of its network have nothing to do, so whoever
// drives one of their loops drives all of them. Such loops have no threads; one thread at a time uses their nodes.
#pragma once

#include <cinnabar/base/clock.hpp>

namespace cinnabar::hl {

class Loop;

void join_clock(Loop& loop);
void leave_clock(Loop& loop) noexcept;
// A round over all loops of this one's clock. Time moves to the next event, for this loop `timeout` at most. Inside
// itself, that is from a handler, it drives this loop alone.
void drive_clock(Loop& loop, Microseconds timeout);

}  // namespace cinnabar::hl
