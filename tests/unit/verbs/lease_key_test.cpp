// SPDX-License-Identifier: BSD-3-Clause
#include "lease_key.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cinnabar::verbs {
namespace {

const std::vector<KeySegment> segments{{0x10'0000, 100, 11}, {0x20'0000, 50, 22}};

std::vector<std::byte> key_of(const std::vector<KeySegment>& from) {
    std::vector<std::byte> key(key_bytes(from.size()));
    ByteWriter writer(key);
    encode_key(from, writer);
    EXPECT_TRUE(writer.ok());
    return key;
}

TEST(LeaseKey, FindsTheSegmentOfAnAccess) {
    const auto key = key_of(segments);
    RemoteAddress place;
    ASSERT_EQ(find_address(key, 0, 100, place), Errc::ok);
    EXPECT_EQ(place.address, 0x10'0000u);
    EXPECT_EQ(place.rkey, 11u);
    ASSERT_EQ(find_address(key, 110, 40, place), Errc::ok);
    EXPECT_EQ(place.address, 0x20'000au);
    EXPECT_EQ(place.rkey, 22u);
}

TEST(LeaseKey, RefusesWhatCrossesABorderOrTheEnd) {
    const auto key = key_of(segments);
    RemoteAddress place;
    EXPECT_EQ(find_address(key, 99, 2, place), Errc::invalid_argument);
    EXPECT_EQ(find_address(key, 0, 150, place), Errc::invalid_argument);
    EXPECT_EQ(find_address(key, 110, 41, place), Errc::too_large);
    EXPECT_EQ(find_address(key, 151, 0, place), Errc::too_large);
    EXPECT_EQ(find_address(key, ~std::uint64_t{0}, 2, place), Errc::too_large);
    EXPECT_EQ(find_address(key, 110, ~std::uint64_t{0}, place), Errc::too_large);
}

TEST(LeaseKey, NothingAtTheEndIsInside) {
    RemoteAddress place;
    EXPECT_EQ(find_address(key_of(segments), 150, 0, place), Errc::ok);
    const auto empty = key_of({});
    EXPECT_EQ(find_address(empty, 0, 0, place), Errc::ok);
    EXPECT_EQ(find_address(empty, 0, 1, place), Errc::too_large);
}

TEST(LeaseKey, DamageIsNoticedWhereverItIs) {
    const auto key = key_of(segments);
    RemoteAddress place;
    for (std::size_t i = 0; i < key.size(); ++i) {
        for (const unsigned bit : {1u, 0x41u, 0x80u}) {
            auto damaged = key;
            damaged[i] ^= static_cast<std::byte>(bit);
            EXPECT_EQ(find_address(damaged, 0, 8, place), Errc::permission) << i;
        }
    }
    for (std::size_t bytes = 0; bytes < key.size(); ++bytes) {
        EXPECT_EQ(find_address(ConstBytes(key).first(bytes), 0, 8, place), Errc::permission) << bytes;
    }
}

TEST(LeaseKey, ThatDoesNotFitFailsItsWriter) {
    std::vector<std::byte> room(key_bytes(2) - 1);
    ByteWriter writer(room);
    encode_key(segments, writer);
    EXPECT_FALSE(writer.ok());
}

}  // namespace
}  // namespace cinnabar::verbs
