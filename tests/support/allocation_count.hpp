// SPDX-License-Identifier: BSD-3-Clause
// Counts heap allocations. A program that links `cinnabar_allocation_count` has malloc and its family replaced by ones
// that count and pass on, so operator new, the C++ library and shared libraries are counted alike. Under a sanitizer,
// which owns malloc, the sanitizer's own hook counts instead, and no allocation can be made to fail.
#pragma once

#include <cstdint>

namespace cinnabar::support {

// malloc, calloc, realloc of a null pointer, and the aligned forms, since the start of the process, by all its
// threads. A realloc of a live block counts as one too: it may move.
[[nodiscard]] std::uint64_t allocations() noexcept;

// While one lives, memory is out for its thread: every allocation fails.
class NoMemory {
  public:
    NoMemory() noexcept;
    ~NoMemory();
    NoMemory(const NoMemory&) = delete;
    NoMemory& operator=(const NoMemory&) = delete;
    [[nodiscard]] static bool works() noexcept;  // false under a sanitizer
};

}  // namespace cinnabar::support
