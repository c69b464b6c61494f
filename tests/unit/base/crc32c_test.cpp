// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/crc32c.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

// RFC 3720, B.4, and the check value of the algorithm.
TEST(Crc32c, KnownSums) {
    EXPECT_EQ(crc32c({}), 0u);
    EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
    EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8a9136aau);
    EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xff'))), 0x62a8ab43u);
}

TEST(Crc32c, PartsAddUp) {
    const std::string all = "some bytes of which the sum is taken in two parts";
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        EXPECT_EQ(crc32c(as_bytes(all.substr(cut)), crc32c(as_bytes(all.substr(0, cut)))), crc32c(as_bytes(all)));
    }
}

// Long inputs are summed in three lanes, of 8 KiB and of 1 KiB; the short parts that they are compared with are not.
TEST(Crc32c, LongOnesAreTheSumsOfTheirParts) {
    std::vector<std::byte> all(70'000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * i * 31 >> 4);
    for (const std::size_t size :
         {3071u, 3072u, 3073u, 6143u, 6144u, 6151u, 24'575u, 24'576u, 24'577u, 49'153u, 69'993u}) {
        for (std::size_t from = 0; from < 8; ++from) {
            std::uint32_t sum = 0;
            for (std::size_t at = 0; at < size; at += 700)
                sum = crc32c(ConstBytes(all).subspan(from + at, std::min<std::size_t>(700, size - at)), sum);
            EXPECT_EQ(crc32c(ConstBytes(all).subspan(from, size)), sum) << size << " from " << from;
        }
    }
}

}  // namespace
}  // namespace cinnabar
