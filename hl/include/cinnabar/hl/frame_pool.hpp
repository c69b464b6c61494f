// SPDX-License-Identifier: BSD-3-Clause
// Allocator for coroutine frames and small call states. Each thread has free lists by size. A shared reserve moves
// memory from threads that only free to threads that only allocate. In the steady state nothing is allocated from the
// system. Under AddressSanitizer the allocator is plain new and delete, so that a use after free is found.
#pragma once

#include <cinnabar/base/export.hpp>

#include <cstddef>

namespace cinnabar::hl {

// Returns memory aligned as by operator new. Throws std::bad_alloc.
[[nodiscard]] CINNABAR_API void* take_frame(std::size_t bytes);
// `bytes` must be that given to take_frame(). Any thread.
CINNABAR_API void give_frame(void* frame, std::size_t bytes) noexcept;

// Base of objects that are allocated from this pool.
struct Framed {
    static void* operator new(std::size_t bytes) { return take_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { give_frame(frame, bytes); }
};

}  // namespace cinnabar::hl
