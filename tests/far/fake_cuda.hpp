// SPDX-License-Identifier: BSD-3-Clause
// What the simulated driver (fake_cuda.cpp) offers to tests, in addition to the entry points of the real one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

struct FakeCudaCounts {
    std::uint64_t calls = 0;
    std::uint64_t copies = 0;
    std::uint64_t pinned_copies = 0;  // those from or to pinned memory
    std::size_t copies_at_once = 0;   // the most ever
    std::uint64_t breaches = 0;       // violations of the driver's rules
    // Leaked, if not 0 in the end:
    std::int64_t contexts = 0;
    std::int64_t streams = 0;
    std::int64_t pinned = 0;
    std::int64_t opened = 0;  // memory of other processes
    // Memory of other processes:
    std::uint64_t opens = 0;
    std::int64_t opened_at_once = 0;  // the most ever
    std::uint64_t device_copies = 0;
};

// After `after` further calls of that name, the next one returns `code`; "": no call fails.
extern "C" void fake_cuda_fail(const char* name, int after, int code);
// Waiting for a stream blocks until that many copies are in progress at once, or for a limited time.
extern "C" void fake_cuda_await_copies(std::size_t copies);
extern "C" FakeCudaCounts fake_cuda_counts();
// While `hold` is set, copies on the device do not proceed.
extern "C" void fake_cuda_hold_device_copies(bool hold);
// The number of copies that are held.
extern "C" std::size_t fake_cuda_held();
// Waits until that many copies are held; false after 20 seconds.
extern "C" bool fake_cuda_await_held(std::size_t copies);
