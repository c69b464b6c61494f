// SPDX-License-Identifier: BSD-3-Clause
#include "file/blocks.hpp"

#include "file/journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cinnabar::files {
namespace {

bool has_only_zeros(ConstBytes block) noexcept {
    return block[0] == std::byte{0} && std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

}  // namespace

std::vector<std::uint64_t> block_checksums(ConstBytes have, std::uint64_t window_bytes) {
    std::vector<std::uint64_t> checksums;
    for (std::uint64_t offset = 0; offset < window_bytes; offset += compared_block_bytes) {
        const auto bytes = std::min<std::uint64_t>(compared_block_bytes, window_bytes - offset);
        if (offset + bytes > have.size()) break;
        checksums.push_back(block_checksum(have.subspan(offset, bytes)));
    }
    return checksums;
}

std::vector<std::uint64_t> zero_block_checksums(std::uint64_t window_bytes) {
    static constexpr std::array<std::byte, compared_block_bytes> zeros{};
    static const std::uint64_t whole = block_checksum(ConstBytes(zeros));
    std::vector<std::uint64_t> checksums(blocks_in(window_bytes), whole);
    const auto rest = static_cast<std::size_t>(window_bytes % compared_block_bytes);
    if (rest != 0) checksums.back() = block_checksum(ConstBytes(zeros).first(rest));
    return checksums;
}

std::uint64_t zero_block_bytes(ConstBytes window) noexcept {
    std::uint64_t bytes = 0;
    while (!window.empty()) {
        const auto block = window.first(std::min(compared_block_bytes, window.size()));
        if (has_only_zeros(block)) bytes += block.size();
        window = window.subspan(block.size());
    }
    return bytes;
}

std::uint64_t zero_bytes_by(std::span<const std::uint64_t> checksums, std::uint64_t window_bytes) {
    const auto zeros = zero_block_checksums(window_bytes);
    const auto both = std::min(zeros.size(), checksums.size());
    std::uint64_t bytes = 0;
    for (std::size_t block = 0; block < both; ++block) {
        if (checksums[block] != zeros[block]) continue;
        const std::uint64_t offset = std::uint64_t{block} * compared_block_bytes;
        bytes += std::min<std::uint64_t>(compared_block_bytes, window_bytes - offset);
    }
    return bytes;
}

std::vector<ByteRange> changed_ranges(std::span<const std::uint64_t> mine, std::span<const std::uint64_t> theirs,
                                      std::uint64_t window_bytes) {
    std::vector<ByteRange> ranges;
    const auto both = std::min(mine.size(), theirs.size());
    for (std::size_t block = 0; block < blocks_in(window_bytes); ++block) {
        if (block < both && mine[block] == theirs[block]) continue;
        const std::uint64_t offset = std::uint64_t{block} * compared_block_bytes;
        const auto bytes = std::min<std::uint64_t>(compared_block_bytes, window_bytes - offset);
        if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset) {
            ranges.back().bytes += bytes;
        } else {
            ranges.push_back({offset, bytes});
        }
    }
    return ranges;
}

std::uint64_t bytes_of(std::span<const ByteRange> ranges) noexcept {
    std::uint64_t bytes = 0;
    for (const auto& range : ranges) bytes += range.bytes;
    return bytes;
}

}  // namespace cinnabar::files
