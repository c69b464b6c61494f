// SPDX-License-Identifier: BSD-3-Clause
#include "support/network.hpp"

#include <cinnabar/na/memory.hpp>

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <array>

namespace cinnabar::na {
namespace {

class MemoryTest : public testing::Test {
  protected:
    std::unique_ptr<Memory> make(std::vector<Segment> segments, Access access = Access::read) {
        return transport_->register_memory(segments, access).value();
    }
    support::Network network_{support::NetworkKind::self};
    std::unique_ptr<Transport> transport_ = network_.open("a", {}).value();
    std::array<std::byte, 1000> bytes_{};
};

TEST_F(MemoryTest, OfNothing) {
    const auto memory = make({});
    EXPECT_EQ(memory->bytes(), 0u);
    std::uint64_t covered = 1;
    EXPECT_EQ(memory->gather(0, 0, nullptr, 0, covered), 0u);
    EXPECT_EQ(covered, 0u);
}

TEST_F(MemoryTest, EmptySegmentsAreDropped) {
    const auto memory =
        make({{bytes_.data(), 0}, {bytes_.data(), 10}, {bytes_.data() + 50, 0}, {bytes_.data() + 20, 5}});
    ASSERT_EQ(memory->segments().size(), 2u);
    EXPECT_EQ(memory->bytes(), 15u);
    EXPECT_EQ(memory->segment_offset(0), 0u);
    EXPECT_EQ(memory->segment_offset(1), 10u);
    EXPECT_EQ(memory->segment_at(0), 0u);
    EXPECT_EQ(memory->segment_at(9), 0u);
    EXPECT_EQ(memory->segment_at(10), 1u);
    EXPECT_EQ(memory->segment_at(14), 1u);
    EXPECT_EQ(&memory->transport(), transport_.get());
    EXPECT_EQ(memory->access(), Access::read);
}

TEST_F(MemoryTest, GatherCutsAtBothEnds) {
    const auto memory = make({{bytes_.data(), 10}, {bytes_.data() + 100, 20}, {bytes_.data() + 200, 30}});
    std::array<iovec, 4> out{};
    std::uint64_t covered = 0;
    ASSERT_EQ(memory->gather(7, 40, out.data(), out.size(), covered), 3u);
    EXPECT_EQ(covered, 40u);
    EXPECT_EQ(out[0].iov_base, bytes_.data() + 7);
    EXPECT_EQ(out[0].iov_len, 3u);
    EXPECT_EQ(out[1].iov_base, bytes_.data() + 100);
    EXPECT_EQ(out[1].iov_len, 20u);
    EXPECT_EQ(out[2].iov_base, bytes_.data() + 200);
    EXPECT_EQ(out[2].iov_len, 17u);
    ASSERT_EQ(memory->gather(60, 0, out.data(), out.size(), covered), 0u);
    EXPECT_EQ(covered, 0u);
    ASSERT_EQ(memory->gather(30, 30, out.data(), out.size(), covered), 1u);
    EXPECT_EQ(out[0].iov_base, bytes_.data() + 200);
}

TEST_F(MemoryTest, GatherStopsAtTheRoomGiven) {
    const auto memory = make({{bytes_.data(), 10}, {bytes_.data() + 100, 20}, {bytes_.data() + 200, 30}});
    std::array<iovec, 1> out{};
    std::uint64_t covered = 0;
    std::uint64_t at = 5;
    std::vector<std::uint64_t> pieces;
    while (at < 60) {
        ASSERT_EQ(memory->gather(at, 60 - at, out.data(), 1, covered), 1u);
        ASSERT_EQ(out[0].iov_len, covered);
        pieces.push_back(covered);
        at += covered;
    }
    EXPECT_EQ(pieces, (std::vector<std::uint64_t>{5, 20, 30}));
}

TEST_F(MemoryTest, CopiesCrossTheBordersOfSegments) {
    const auto memory = make({{bytes_.data(), 10}, {bytes_.data() + 100, 20}, {bytes_.data() + 200, 30}});
    std::array<std::byte, 40> flat{};
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = static_cast<std::byte>(i + 1);
    memory->copy_in(7, flat);
    EXPECT_EQ(bytes_[6], std::byte{0});
    EXPECT_EQ(bytes_[9], std::byte{3});
    EXPECT_EQ(bytes_[10], std::byte{0});
    EXPECT_EQ(bytes_[100], std::byte{4});
    EXPECT_EQ(bytes_[119], std::byte{23});
    EXPECT_EQ(bytes_[216], std::byte{40});
    EXPECT_EQ(bytes_[217], std::byte{0});
    std::array<std::byte, 40> back{};
    memory->copy_out(7, back);
    EXPECT_EQ(back, flat);
    memory->copy_in(60, {});
    memory->copy_out(60, {});
}

}  // namespace
}  // namespace cinnabar::na
