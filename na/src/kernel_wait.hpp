// SPDX-License-Identifier: BSD-3-Clause
// Sleeps in epoll to the microsecond; on kernels before Linux 5.11, to the next whole millisecond. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <sys/epoll.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <span>

namespace cinnabar::na {

[[nodiscard]] constexpr timespec to_timespec(TimeUs us) noexcept {
    return {static_cast<time_t>(us / 1'000'000u), static_cast<long>(us % 1'000'000u * 1'000u)};
}

class KernelWait {
  public:
    using Precise = int (*)(int epoll, epoll_event* events, int events_max, const timespec* timeout,
                            const sigset_t* mask);

    explicit constexpr KernelWait(Precise precise) noexcept : precise_(precise) {}
    // Returns the number of events, or -1 with errno. `timeout` may be time_never.
    [[nodiscard]] int operator()(int epoll, std::span<epoll_event> events, TimeUs timeout) noexcept;

  private:
    const Precise precise_;           // epoll_pwait2, except in tests
    std::atomic<bool> whole_{false};  // the kernel lacks `precise_`
};

}  // namespace cinnabar::na
