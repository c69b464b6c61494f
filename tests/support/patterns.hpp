// SPDX-License-Identifier: BSD-3-Clause
// Buffers filled with a seeded pattern, between guard bytes, so that a test detects bytes that are missing, misplaced
// or written out of bounds.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/types.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::support {

// The byte of pattern `seed` at `position`; a hash of both, so a shifted copy does not match.
[[nodiscard]] inline std::byte pattern_byte(std::uint64_t seed, std::uint64_t position) noexcept {
    std::uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + position * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 29)) * 0x94d049bb133111ebu;
    return static_cast<std::byte>(z >> 56);
}

inline void fill_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first = 0) noexcept {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_byte(seed, first + i);
}

[[nodiscard]] inline testing::AssertionResult holds_pattern(ConstBytes bytes, std::uint64_t seed,
                                                            std::uint64_t first = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == pattern_byte(seed, first + i)) continue;
        return testing::AssertionFailure() << "byte " << i << " of " << bytes.size() << " is not of pattern " << seed;
    }
    return testing::AssertionSuccess();
}

class GuardedBuffer {
  public:
    // Filled with pattern `seed`.
    GuardedBuffer(std::size_t bytes, std::uint64_t seed) : storage_(bytes + 2 * guard_bytes, guard), bytes_(bytes) {
        fill(seed);
    }
    // Filled with zeros.
    explicit GuardedBuffer(std::size_t bytes) : GuardedBuffer(bytes, 0) {
        std::fill(data(), data() + bytes_, std::byte{0});
    }

    [[nodiscard]] std::byte* data() noexcept { return storage_.data() + guard_bytes; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
    [[nodiscard]] Bytes bytes() noexcept { return {data(), bytes_}; }
    [[nodiscard]] na::Segment segment() noexcept { return {data(), bytes_}; }
    void fill(std::uint64_t seed) noexcept { fill_pattern(bytes(), seed); }

    [[nodiscard]] testing::AssertionResult holds(std::uint64_t seed) { return whole(holds_pattern(bytes(), seed)); }
    // Asserts that [offset, offset + count) holds the pattern from position `first` on.
    [[nodiscard]] testing::AssertionResult holds(std::uint64_t seed, std::size_t offset, std::size_t count,
                                                 std::uint64_t first) {
        return whole(holds_pattern(bytes().subspan(offset, count), seed, first));
    }
    [[nodiscard]] testing::AssertionResult guards_intact() const {
        const auto intact = [this](std::size_t from) {
            return std::all_of(storage_.begin() + static_cast<std::ptrdiff_t>(from),
                               storage_.begin() + static_cast<std::ptrdiff_t>(from + guard_bytes),
                               [](std::byte b) { return b == guard; });
        };
        if (!intact(0)) return testing::AssertionFailure() << "bytes were written before the buffer";
        if (!intact(guard_bytes + bytes_)) return testing::AssertionFailure() << "bytes were written after the buffer";
        return testing::AssertionSuccess();
    }

  private:
    [[nodiscard]] testing::AssertionResult whole(const testing::AssertionResult& result) const {
        return result ? guards_intact() : result;
    }
    static constexpr std::size_t guard_bytes = 64;
    static constexpr std::byte guard{0xa5};
    std::vector<std::byte> storage_;
    std::size_t bytes_;
};

}  // namespace cinnabar::support
