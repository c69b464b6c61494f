// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.hpp"

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL  // nothing has to be linked, here or where this is installed
#include <xxhash.h>
#define CINNABAR_GROUP_CHECKSUMS 1
#else
#define CINNABAR_GROUP_CHECKSUMS 0
#endif

#include <algorithm>
#include <array>

namespace cinnabar::group {

bool has_checksums() noexcept { return CINNABAR_GROUP_CHECKSUMS != 0; }

#if CINNABAR_GROUP_CHECKSUMS

std::uint64_t checksum_of(const bulk::Region& region) {
    if (const Bytes bytes = region.contiguous(); !bytes.empty()) return XXH3_64bits(bytes.data(), bytes.size());
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    std::array<std::byte, 16384> block;
    for (std::uint64_t offset = 0; offset < region.bytes(); offset += block.size()) {
        const std::size_t bytes = std::min<std::uint64_t>(block.size(), region.bytes() - offset);
        region.copy_out(offset, Bytes(block).first(bytes));
        XXH3_64bits_update(&state, block.data(), bytes);
    }
    return XXH3_64bits_digest(&state);
}

#else

std::uint64_t checksum_of(const bulk::Region&) { return 0; }

#endif

}  // namespace cinnabar::group
