// SPDX-License-Identifier: BSD-3-Clause
// Asserts are for bugs, errors for everything else. CINNABAR_ASSERT is on in release builds: keep it cheap.
// CINNABAR_DEBUG_ASSERT is for checks that are too slow for the hot path.
#pragma once

#include <cinnabar/base/export.hpp>

namespace cinnabar {
// Logs the text and aborts.
[[noreturn]] CINNABAR_API void assert_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace cinnabar

#define CINNABAR_ASSERT(expression)                               \
    (__builtin_expect(static_cast<bool>(expression), 1) ? void(0) \
                                                        : ::cinnabar::assert_failed(#expression, __FILE__, __LINE__))

#ifdef NDEBUG
#define CINNABAR_DEBUG_ASSERT(expression) (void(sizeof(static_cast<bool>(expression))))
#else
#define CINNABAR_DEBUG_ASSERT(expression) CINNABAR_ASSERT(expression)
#endif
