// SPDX-License-Identifier: BSD-3-Clause
// One side of a comparison: something that can do the work of a figure for a while, ours or the machine's limit.
#pragma once

#include "partner.hpp"
#include "usage.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace cinnabar::bench {

// What was done in a stretch of time. `work` is in the figure's own units: calls, bytes.
struct Slice {
    double work = 0;
    double work_of_server = 0;  // `work`, and what it took to stop a server that blocks
    double seconds = 0;
    Usage client;
    Usage server;

    Slice& operator+=(const Slice& other) noexcept {
        work += other.work;
        work_of_server += other.work_of_server;
        seconds += other.seconds;
        client += other.client;
        server += other.server;
        return *this;
    }
};

// A subject lives for the whole figure, with its server process, and is idle between slices. One thread.
class Subject {
  public:
    virtual ~Subject() = default;
    // Works for about `duration`; one whole unit at least. Throws std::runtime_error when it cannot.
    virtual Slice run_slice(std::chrono::milliseconds duration) = 0;
};

// Runs `work`, which returns how much it did and leaves nothing in flight, while the server serves, and measures both
// sides. `kick` comes after the server was asked to stop: one piece of work, or none, for a server that blocks; returns
// which.
template <typename Work, typename Kick>
Slice measure(Partner& partner, Work&& work, Kick&& kick) {
    partner.begin_slice();
    Slice slice;
    const auto used = usage_now();
    const auto begin = seconds_now();
    slice.work = work();
    slice.seconds = seconds_now() - begin;
    slice.client = usage_now() - used;
    partner.ask_to_stop();
    slice.work_of_server = slice.work + kick();
    slice.server = partner.finish_slice();
    return slice;
}

template <typename Work>
Slice measure(Partner& partner, Work&& work) {
    return measure(partner, std::forward<Work>(work), [] { return 0; });
}

// Calls `once` until `duration` has passed and returns how often; it looks at the clock after every eighth.
template <typename Once>
double repeat_for(std::chrono::milliseconds duration, Once&& once) {
    const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
    std::uint64_t times = 0;
    do {
        for (int i = 0; i < 8; ++i) once();
        times += 8;
    } while (seconds_now() < end);
    return static_cast<double>(times);
}

}  // namespace cinnabar::bench
