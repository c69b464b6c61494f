// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a window. When a file replaces an older version, only the blocks that changed are sent. Pure functions.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cinnabar::files {

// The size of the blocks that are compared. Trade-off: if one 4 KiB page in a hundred has changed, less than 4 % of a
// large file is sent; the checksums take less than a thousandth of the file.
inline constexpr std::size_t compared_block_bytes = 16u << 10;

[[nodiscard]] constexpr std::size_t blocks_in(std::uint64_t window_bytes) noexcept {
    return static_cast<std::size_t>((window_bytes + compared_block_bytes - 1) / compared_block_bytes);
}

// Returns the XXH3 of each complete block in `have`, the beginning of a window of `window_bytes`.
[[nodiscard]] std::vector<std::uint64_t> block_checksums(ConstBytes have, std::uint64_t window_bytes);

// As block_checksums(), for a window of zeros.
[[nodiscard]] std::vector<std::uint64_t> zero_block_checksums(std::uint64_t window_bytes);
// How many bytes of a window lie in blocks that are all zeros.
[[nodiscard]] std::uint64_t zero_block_bytes(ConstBytes window) noexcept;
// As zero_block_bytes(), computed from the checksums of the window's blocks.
[[nodiscard]] std::uint64_t zero_bytes_by(std::span<const std::uint64_t> checksums, std::uint64_t window_bytes);

struct ByteRange {
    std::uint64_t offset = 0;  // in the window
    std::uint64_t bytes = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
// The ranges of a window that differ between the two sides, in order. A block that one side does not have counts as
// different.
[[nodiscard]] std::vector<ByteRange> changed_ranges(std::span<const std::uint64_t> mine,
                                                    std::span<const std::uint64_t> theirs, std::uint64_t window_bytes);
[[nodiscard]] std::uint64_t bytes_of(std::span<const ByteRange> ranges) noexcept;

}  // namespace cinnabar::files
