// SPDX-License-Identifier: BSD-3-Clause
// How much of the C library's heap this process uses.
#pragma once

#include <malloc.h>

#include <cstddef>

namespace cinnabar::support {

// Of the blocks that are allocated and not freed, with what the C library adds to each. Blocks of a few small sizes
// that were freed last are counted too. Means nothing under a sanitizer, which has a heap of its own.
[[nodiscard]] inline std::size_t heap_bytes_in_use() noexcept {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

}  // namespace cinnabar::support
