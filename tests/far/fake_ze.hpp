// SPDX-License-Identifier: BSD-3-Clause
// What the simulated Level Zero loader (fake_ze.cpp) offers to tests, in addition to the entry points of the real one.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeZeCounts {
    std::uint64_t copies = 0;
    std::uint64_t breaches = 0;      // violations of the specification
    std::int64_t lists = 0;          // leaked, if not 0 in the end
    std::size_t copies_at_once = 0;  // the most ever
};

// Device memory; null: out of memory.
extern "C" void* fake_ze_allocate(std::size_t bytes);
extern "C" void fake_ze_free(void* memory);
// After `after` further calls of that name, the next one returns `code`; "": no call fails.
extern "C" void fake_ze_fail(const char* name, int after, int code);
extern "C" FakeZeCounts fake_ze_counts();
