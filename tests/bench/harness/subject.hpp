// SPDX-License-Identifier: BSD-3-Clause
// One side of a comparison, ours or the limit of the machine: it can do the work of a figure for a while.
#pragma once

#include "partner.hpp"
#include "usage.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace cinnabar::bench {

// The work done in a period of time. `work` is in the units of the figure: calls or bytes.
struct Slice {
    double work = 0;
    double work_of_server = 0;  // `work`, plus the work that it took to stop a server that blocks
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

// A subject and its server process exist for the whole figure, and are idle between slices. One thread.
class Subject {
  public:
    virtual ~Subject() = default;
    // Works for about `duration`, at least one whole unit. Throws std::runtime_error if it cannot.
    virtual Slice run_slice(std::chrono::milliseconds duration) = 0;
};

// Runs `work` while the server serves, and measures both sides. `work` returns how much it did and leaves nothing in
// flight. `kick` is called after the server was asked to stop: for a server that blocks, it does one piece of work; it
// returns the work that it did.
template <typename WorkItem, typename Kick>
Slice measure(Partner& partner, WorkItem&& work, Kick&& kick) {
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

template <typename WorkItem>
Slice measure(Partner& partner, WorkItem&& work) {
    return measure(partner, std::forward<WorkItem>(work), [] { return 0; });
}

// Calls `once` until `duration` has passed and returns how often. It reads the clock after every eighth call.
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
