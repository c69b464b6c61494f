// SPDX-License-Identifier: BSD-3-Clause
// 64-bit XXH3 with the widest vector instructions of this processor, where xxHash can choose them at run time. The
// plain functions of xxHash use only instructions that every processor of the architecture has. Both compute the same
// checksums.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <xxhash.h>

#include <cstdint>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define CINNABAR_XXH3_DISPATCHES
#endif

namespace cinnabar::files {

[[nodiscard]] inline std::uint64_t xxh3(ConstBytes bytes) noexcept {
#ifdef CINNABAR_XXH3_DISPATCHES
    return XXH3_64bits_dispatch(bytes.data(), bytes.size());
#else
    return XXH3_64bits(bytes.data(), bytes.size());
#endif
}

inline void xxh3_update(XXH3_state_t* state, ConstBytes bytes) noexcept {
#ifdef CINNABAR_XXH3_DISPATCHES
    (void)XXH3_64bits_update_dispatch(state, bytes.data(), bytes.size());
#else
    (void)XXH3_64bits_update(state, bytes.data(), bytes.size());
#endif
}

}  // namespace cinnabar::files
