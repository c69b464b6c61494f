// SPDX-License-Identifier: BSD-3-Clause
// What the made-up driver (fake_cuda.cpp) offers to tests beside the entry points of the real one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

struct FakeCudaCounts {
    std::uint64_t calls = 0;
    std::uint64_t copies = 0;
    std::uint64_t pinned_copies = 0;  // of those, from or to pinned memory
    std::size_t copies_at_once = 0;   // the most ever
    std::uint64_t breaches = 0;       // of the driver's rules
    // Not given back:
    std::int64_t contexts = 0;
    std::int64_t streams = 0;
    std::int64_t pinned = 0;
};

// From the call of that name on that comes after `after` others, it answers `code`; "": none fails.
extern "C" void fake_cuda_fail(const char* name, int after, int code);
// Who waits for a stream waits until so many copies were under way at once, or for a while.
extern "C" void fake_cuda_await_copies(std::size_t copies);
extern "C" FakeCudaCounts fake_cuda_counts();
