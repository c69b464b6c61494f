// SPDX-License-Identifier: BSD-3-Clause
// CINNABAR_TEST_YIELD(where) marks a point at which another thread may interleave. In builds with asserts a test can
// pause a thread at this point (set_test_yield); in other builds the macro expands to nothing. Never on the hot path.
#pragma once

#ifdef NDEBUG
#define CINNABAR_TEST_YIELD(where) static_cast<void>(0)
#else

#include <atomic>

namespace cinnabar {

// `where` has static storage. Runs on the thread that reaches the point.
using TestYield = void (*)(const char* where) noexcept;
inline std::atomic<TestYield> test_yield{nullptr};

}  // namespace cinnabar

#define CINNABAR_TEST_YIELD(where)                                                                        \
    do {                                                                                                  \
        if (const ::cinnabar::TestYield yield = ::cinnabar::test_yield.load(std::memory_order_acquire)) { \
            yield(where);                                                                                 \
        }                                                                                                 \
    } while (false)
#endif
