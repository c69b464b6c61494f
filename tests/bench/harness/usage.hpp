// SPDX-License-Identifier: BSD-3-Clause
// What a process has used so far, and on which cores it may run.
#pragma once

#include <cstdint>

namespace cinnabar::bench {

struct Usage {
    double cpu_seconds = 0;  // user and system time of all threads, by getrusage
    std::uint64_t allocations = 0;
    std::uint64_t system_calls = 0;  // those that support/system_calls.hpp counts
    std::uint64_t bytes_sent = 0;    // through sockets
    std::uint64_t bytes_received = 0;

    Usage& operator+=(const Usage& other) noexcept;
    [[nodiscard]] Usage operator-(const Usage& other) const noexcept;
};

// The usage of the calling process.
[[nodiscard]] Usage usage_now() noexcept;

// Processor time of the children that have ended and were waited for.
[[nodiscard]] double cpu_seconds_of_children() noexcept;

// Monotonic seconds.
[[nodiscard]] double seconds_now() noexcept;

// The first two cores that this process may use. If there is only one, both are the same and `two` is false: then
// figures with two spinning ends are meaningless.
struct Cores {
    int client = 0;
    int server = 0;
    bool two = false;
};
[[nodiscard]] Cores pick_cores() noexcept;

// Pins the calling thread, and the threads and processes that it starts from now on. False if the system refuses.
bool pin_to(int core) noexcept;
// The same for both cores, for figures of many processes.
bool pin_to_both(const Cores& cores) noexcept;

}  // namespace cinnabar::bench
