// SPDX-License-Identifier: BSD-3-Clause
// Counts heap allocations. A program that links `cinnabar_allocation_count` has malloc and related functions replaced
// by wrappers that count, so allocations by operator new, the C++ library and shared libraries are all counted. Under a
// sanitizer, which replaces malloc itself, the sanitizer's hook counts instead, and allocations cannot be made to fail.
#pragma once

#include <cstdint>

namespace cinnabar::support {

// Allocations of all threads since the start of the process: malloc, calloc, realloc and the aligned forms. A realloc
// of a live block counts too, since it may move.
[[nodiscard]] std::uint64_t allocations() noexcept;

// Blocks of all threads that were allocated and not freed; 0 under a sanitizer.
[[nodiscard]] std::int64_t blocks_in_use() noexcept;

// While it exists, every allocation of its thread fails, except those of libfabric, which would end the process.
class NoMemory {
  public:
    NoMemory() noexcept;
    // The first `spared` allocations succeed and are subtracted from it. `spared` must outlive this object.
    explicit NoMemory(std::uint64_t& spared) noexcept;
    ~NoMemory();
    NoMemory(const NoMemory&) = delete;
    NoMemory& operator=(const NoMemory&) = delete;
    [[nodiscard]] static bool works() noexcept;  // false under a sanitizer
};

}  // namespace cinnabar::support
