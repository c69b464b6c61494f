// SPDX-License-Identifier: BSD-3-Clause
#include "pin_ranges.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace cinnabar::verbs {
namespace {

constexpr std::uint64_t any_bytes = ~std::uint64_t{0};

std::uintptr_t page() { return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)); }

// The memory is never accessed: only addresses matter.
na::Segment at(std::uintptr_t begin, std::size_t bytes) { return {reinterpret_cast<std::byte*>(begin), bytes}; }

TEST(PinRanges, SegmentsOnNeighbouringPagesShareOneInAnyOrder) {
    const std::uintptr_t base = 100 * page();
    const std::vector<na::Segment> segments{at(base + 10, 20), at(base + page() + 5, 7), at(base, 3),
                                            at(base + 9 * page(), 1)};
    const PinRange first = first_range(segments, any_bytes).value();
    EXPECT_EQ(first.begin, base);
    EXPECT_EQ(first.end, base + page() + 12);
    EXPECT_EQ(first.segments, 3u);
    const PinRange second = first_range(std::span(segments).subspan(3), any_bytes).value();
    EXPECT_EQ(second.begin, base + 9 * page());
    EXPECT_EQ(second.segments, 1u);
}

TEST(PinRanges, AreNotLargerThanTheDeviceAllows) {
    const std::uintptr_t base = 100 * page();
    const std::vector<na::Segment> segments{at(base, page()), at(base + page(), page()), at(base + 2 * page(), page())};
    EXPECT_EQ(first_range(segments, 2 * page()).value().segments, 2u);
    EXPECT_EQ(first_range(segments, 2 * page() - 1).value().segments, 1u);
}

TEST(PinRanges, ASegmentThatIsTooLargeIsReportedWithTheLimit) {
    const std::vector<na::Segment> segments{at(100 * page(), 4097)};
    const auto refused = first_range(segments, 4096);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.code(), Errc::too_large);
    EXPECT_NE(refused.error().message().find("4097 of 4096 bytes"), std::string::npos) << refused.error().message();
}

}  // namespace
}  // namespace cinnabar::verbs
