// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_wait.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>

namespace cinnabar::na {
namespace {

// Rounds up, because a thread that wakes too early would only sleep again.
int whole_ms(TimeUs us) noexcept {
    if (us == time_never) return -1;
    const TimeUs ms = us / 1'000u + (us % 1'000u != 0 ? 1 : 0);
    return static_cast<int>(std::min<TimeUs>(ms, INT_MAX));
}

}  // namespace

int KernelWait::operator()(int epoll, std::span<epoll_event> events, TimeUs timeout) noexcept {
    const int events_max = static_cast<int>(events.size());
    if (!whole_.load(std::memory_order_relaxed)) {
        const timespec precise = to_timespec(timeout);
        const int count =
            precise_(epoll, events.data(), events_max, timeout == time_never ? nullptr : &precise, nullptr);
        // EPERM: from a filter of system calls (seccomp) that does not know this one.
        if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
        whole_.store(true, std::memory_order_relaxed);
    }
    return ::epoll_wait(epoll, events.data(), events_max, whole_ms(timeout));
}

}  // namespace cinnabar::na
