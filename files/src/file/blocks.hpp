// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a window: of a file that is there in an older version, only the blocks that changed are sent. Pure.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cinnabar::files {

// So small that of a large file, in which one page of 4 KiB in a hundred has changed, under 0.04 is sent; so large that
// the checksums are under a thousandth of it.
inline constexpr std::size_t compared_block_bytes = 16u << 10;

[[nodiscard]] constexpr std::size_t blocks_in(std::uint64_t window_bytes) noexcept {
    return static_cast<std::size_t>((window_bytes + compared_block_bytes - 1) / compared_block_bytes);
}

// XXH3 of each block of a window of that size, as far as `have`, from its beginning, has the whole block.
[[nodiscard]] std::vector<std::uint64_t> block_checksums(ConstBytes have, std::uint64_t window_bytes);

struct ByteRange {
    std::uint64_t offset = 0;  // in the window
    std::uint64_t bytes = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
// What of a window of that size is not the same on both sides, in its order; a block that one of them lacks is not.
[[nodiscard]] std::vector<ByteRange> changed_ranges(std::span<const std::uint64_t> mine,
                                                    std::span<const std::uint64_t> theirs, std::uint64_t window_bytes);
[[nodiscard]] std::uint64_t bytes_of(std::span<const ByteRange> ranges) noexcept;

}  // namespace cinnabar::files
