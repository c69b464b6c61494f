// SPDX-License-Identifier: BSD-3-Clause
// compare_machine_limit NAME SECONDS: what the machine allows with bare system calls, by the limits of cinnabar-bench.
// Prints "per_second N": round trips, or bytes for `copy` and `stream`. It has a process for each side, on two cores of
// those that the system allows, whatever core it was started on.
#include "harness/usage.hpp"
#include "limits/limits.hpp"

#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace {

using namespace cinnabar::bench;

// About what a call of 64 bytes and its reply of ours put on the wire.
constexpr FrameBytes frame{112, 96};
constexpr std::size_t mebibyte = 1 << 20;

std::unique_ptr<Subject> make(std::string_view name, Cores cores) {
    if (name == "ring") return make_ring_ping_pong(cores, frame);
    if (name == "call") return make_spinning_ping_pong(cores, frame);
    if (name == "rate") return make_batched_ping_pong(cores, frame, 64);
    if (name == "copy") return make_cross_memory_copy(cores, mebibyte);
    if (name == "stream") return make_stream(cores, Direction::to_server, mebibyte, 8);
    throw std::runtime_error("the limits are ring, call, rate, copy and stream");
}

void run(const char* name, double seconds) {
    if (!(seconds > 0 && seconds < 3600)) throw std::runtime_error("SECONDS is from 0 to an hour");
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
    const Cores cores = pick_cores();
    if (!cores.two) throw std::runtime_error("two cores are needed: one for each side");
    (void)pin_to(cores.client);
    const std::unique_ptr<Subject> subject = make(name, cores);
    (void)subject->run_slice(std::chrono::milliseconds(10));
    const Slice slice = subject->run_slice(std::chrono::milliseconds(static_cast<int>(seconds * 1000) + 1));
    std::printf("per_second %.17g\n", slice.work / slice.seconds);
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) {
        std::fprintf(stderr, "compare_machine_limit ring|call|rate|copy|stream SECONDS\n");
        return 2;
    }
    try {
        run(words[1], std::strtod(words[2], nullptr));
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return 0;
}
