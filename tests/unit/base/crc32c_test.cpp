// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/crc32c.hpp>

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace cinnabar
