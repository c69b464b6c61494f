// SPDX-License-Identifier: BSD-3-Clause
// Test vectors of the paper and its reference code: the key is 00..0f, the inputs are the first bytes of 00, 01, 02...
#include <cinnabar/base/siphash.hpp>

#include <gtest/gtest.h>

#include <array>

namespace cinnabar {
namespace {

constexpr SipKey key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

std::uint64_t of_first(std::size_t bytes) {
    std::array<std::byte, 64> input{};
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
    return siphash(key, ConstBytes(input).first(bytes));
}

TEST(SipHash, GivesTheNumbersOfTheReference) {
    EXPECT_EQ(of_first(0), 0x726fdb47dd0e0e31u);
    EXPECT_EQ(of_first(1), 0x74f839c593dc67fdu);
    EXPECT_EQ(of_first(8), 0x93f5f5799a932462u);
    EXPECT_EQ(of_first(15), 0xa129ca6149be45e5u);
    EXPECT_EQ(of_first(63), 0x958a324ceb064572u);
}

TEST(SipHash, DependsOnTheKey) {
    const std::array<std::byte, 3> input{};
    EXPECT_NE(siphash(key, input), siphash({key[0], key[1] ^ 1}, input));
}

}  // namespace
}  // namespace cinnabar
