// SPDX-License-Identifier: BSD-3-Clause
#include "completion_queue.hpp"

#include <sched.h>

namespace cinnabar::na {

void CompletionQueue::SpinGuard::wait(std::atomic_flag& flag) noexcept {
    for (unsigned tries = 0; flag.test_and_set(std::memory_order_acquire); ++tries) {
        if (tries > 32) ::sched_yield();
    }
}

}  // namespace cinnabar::na
