// SPDX-License-Identifier: BSD-3-Clause
#include "perf/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

TEST(PerfPattern, EveryFlippedBitIsFound) {
    for (const std::size_t size : {1u, 7u, 8u, 9u, 64u, 71u, 72u, 139u}) {
        std::vector<std::byte> bytes(size);
        fill_pattern(bytes, 42);
        ASSERT_TRUE(has_pattern(bytes, 42));
        for (std::size_t bit = 0; bit < 8 * size; ++bit) {
            bytes[bit / 8] ^= std::byte{1} << (bit % 8);
            EXPECT_FALSE(has_pattern(bytes, 42)) << size << ", bit " << bit;
            bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        }
    }
}

// The other side may be of an earlier version.
TEST(PerfPattern, IsTheSameInEveryVersion) {
    std::vector<std::byte> bytes(150);
    fill_pattern(bytes, 7);
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    EXPECT_EQ(word, 0x3b69f3fcfcaddee3u);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof word, word += 0x9e3779b97f4a7c15u) {
        const std::size_t count = std::min(sizeof word, bytes.size() - at);
        EXPECT_EQ(std::memcmp(bytes.data() + at, &word, count), 0) << at;
    }
}

TEST(PerfPattern, WhatIsOldOrInAnotherPlaceIsFound) {
    std::vector<std::byte> bytes(64);
    fill_pattern(bytes, 1);
    for (std::uint64_t seed = 0; seed < 100; ++seed) EXPECT_EQ(has_pattern(bytes, seed), seed == 1) << seed;
    std::rotate(bytes.begin(), bytes.begin() + 8, bytes.end());
    EXPECT_FALSE(has_pattern(bytes, 1));
    // Nothing has arrived.
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    for (std::uint64_t seed = 0; seed < 1000; ++seed) EXPECT_FALSE(has_pattern(bytes, seed)) << seed;
}

TEST(PerfPattern, NoBytesAreRight) { EXPECT_TRUE(has_pattern({}, 3)); }

}  // namespace
}  // namespace cinnabar::tools::perf
