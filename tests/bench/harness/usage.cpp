// SPDX-License-Identifier: BSD-3-Clause
#include "usage.hpp"

#include "support/allocation_count.hpp"
#include "support/system_calls.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <chrono>

namespace cinnabar::bench {

Usage& Usage::operator+=(const Usage& other) noexcept {
    cpu_seconds += other.cpu_seconds;
    allocations += other.allocations;
    system_calls += other.system_calls;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    return *this;
}

Usage Usage::operator-(const Usage& other) const noexcept {
    return {cpu_seconds - other.cpu_seconds, allocations - other.allocations, system_calls - other.system_calls,
            bytes_sent - other.bytes_sent, bytes_received - other.bytes_received};
}

namespace {

double cpu_seconds(int whose) noexcept {
    rusage used{};
    getrusage(whose, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

Usage usage_now() noexcept {
    const auto moved = support::socket_traffic();
    return {cpu_seconds(RUSAGE_SELF), support::allocations(), support::system_calls(), moved.bytes_sent,
            moved.bytes_received};
}

double cpu_seconds_of_children() noexcept { return cpu_seconds(RUSAGE_CHILDREN); }

double seconds_now() noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Cores pick_cores() noexcept {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    int found[2] = {0, 0};
    int count = 0;
    for (int core = 0; core < CPU_SETSIZE && count < 2; ++core) {
        if (CPU_ISSET(core, &allowed)) found[count++] = core;
    }
    return {found[0], count == 2 ? found[1] : found[0], count == 2};
}

bool pin_to(int core) noexcept { return pin_to_both({core, core, false}); }

bool pin_to_both(const Cores& cores) noexcept {
    cpu_set_t both;
    CPU_ZERO(&both);
    CPU_SET(cores.client, &both);
    CPU_SET(cores.server, &both);
    return sched_setaffinity(0, sizeof both, &both) == 0;
}

}  // namespace cinnabar::bench
