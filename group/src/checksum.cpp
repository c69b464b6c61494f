// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.hpp"

#include <cinnabar/base/crc32c.hpp>

#include <algorithm>
#include <array>

namespace cinnabar::group {

std::uint32_t checksum_of(const bulk::Region& region) {
    if (const Bytes bytes = region.contiguous(); !bytes.empty()) return crc32c(bytes);
    std::array<std::byte, 4096> block;
    std::uint32_t checksum = 0;
    for (std::uint64_t offset = 0; offset < region.bytes(); offset += block.size()) {
        const Bytes part = Bytes(block).first(std::min<std::uint64_t>(block.size(), region.bytes() - offset));
        region.copy_out(offset, part);
        checksum = crc32c(part, checksum);
    }
    return checksum;
}

}  // namespace cinnabar::group
