// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cinnabar::ofi {
namespace {

constexpr std::size_t message_bytes_max = 1024;

struct Decoded {
    Errc outcome = Errc::ok;
    Frame frame;
    TransferBody body;
    ConstBytes payload;
};

std::vector<std::byte> bytes_of(const Frame& frame, const TransferBody& body = {}) {
    std::vector<std::byte> bytes(head_bytes(frame.kind) + padded(frame.bytes));
    encode(frame, body, bytes);
    return bytes;
}

Decoded decoded(ConstBytes bytes) {
    Decoded out;
    out.outcome = decode(bytes, message_bytes_max, out.frame, out.body, out.payload);
    return out;
}

TransferBody large(std::uint64_t bytes) {
    TransferBody body;
    body.bytes = bytes;
    body.tag = 0x1234'5678'9a00;
    body.chunk = 256 * 1024;
    return body;
}

TEST(OfiFrame, AMessageRoundTrips) {
    auto bytes = bytes_of(Frame{FrameKind::expected, 0, Errc::ok, 5, {7, 8}, 99});
    std::memcpy(bytes.data() + frame_header_bytes, "hello", 5);
    const Decoded out = decoded(bytes);
    ASSERT_EQ(out.outcome, Errc::ok);
    EXPECT_EQ(out.frame.kind, FrameKind::expected);
    EXPECT_EQ(out.frame.session, (SessionName{7, 8}));
    EXPECT_EQ(out.frame.id, 99u);
    EXPECT_EQ(as_text(out.payload), "hello");
}

TEST(OfiFrame, ATransferRoundTrips) {
    TransferBody body = large(3 << 20);
    body.key = {1, 2, 3};
    body.offset = 4;
    body.operand = 5;
    body.compare = 6;
    body.notify = 7;
    const Decoded out = decoded(bytes_of(Frame{FrameKind::put, flag_notify, Errc::ok, 0, {7, 8}, 99}, body));
    ASSERT_EQ(out.outcome, Errc::ok);
    EXPECT_EQ(out.body.key.key, 3u);
    EXPECT_EQ(out.body.offset, 4u);
    EXPECT_EQ(out.body.bytes, 3u << 20);
    EXPECT_EQ(out.body.tag, body.tag);
    EXPECT_EQ(out.body.operand, 5u);
    EXPECT_EQ(out.body.compare, 6u);
    EXPECT_EQ(out.body.notify, 7u);
    EXPECT_EQ(out.body.chunk, body.chunk);
}

TEST(OfiFrame, MalformedFramesAreRefused) {
    const auto refused = [](const Frame& frame, const TransferBody& body = {}) {
        return decoded(bytes_of(frame, body)).outcome == Errc::protocol;
    };
    EXPECT_TRUE(refused(Frame{static_cast<FrameKind>(0)}));
    EXPECT_TRUE(refused(Frame{static_cast<FrameKind>(5)}));
    EXPECT_TRUE(refused(Frame{static_cast<FrameKind>(26)}));
    EXPECT_TRUE(refused(Frame{FrameKind::unexpected, 1}));
    EXPECT_TRUE(refused(Frame{FrameKind::unexpected, 0, Errc::refused}));
    EXPECT_TRUE(refused(Frame{FrameKind::unexpected, 0, Errc::ok, message_bytes_max + 1}));
    EXPECT_TRUE(refused(Frame{FrameKind::put_done, 0, Errc::ok, 8}));
    // More chunks than a tag can number; a tag that is not that of chunk 0, or is too long; chunks that are too small.
    EXPECT_TRUE(refused(Frame{FrameKind::get}, large(std::uint64_t{chunks_max} * 256 * 1024 + 1)));
    TransferBody body = large(1 << 20);
    body.tag |= 1;
    EXPECT_TRUE(refused(Frame{FrameKind::get}, body));
    body.tag = std::uint64_t{1} << chunk_tag_bits;
    EXPECT_TRUE(refused(Frame{FrameKind::get}, body));
    body = large(1 << 20);
    body.chunk = 1;
    EXPECT_TRUE(refused(Frame{FrameKind::get}, body));
    // Small transfers that are too large for a frame, or not of the announced size.
    body = {};
    body.bytes = small_bytes_max + 1;
    EXPECT_TRUE(refused(Frame{FrameKind::get}, body));
    body.bytes = 8;
    EXPECT_TRUE(refused(Frame{FrameKind::put, 0, Errc::ok, 16}, body));
}

TEST(OfiFrame, TruncatedFramesAreRefused) {
    const auto whole = bytes_of(Frame{FrameKind::get}, large(1 << 20));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_EQ(decoded(ConstBytes(whole).first(size)).outcome, Errc::protocol) << size;
    }
    auto longer = whole;
    longer.resize(whole.size() + 8);
    EXPECT_EQ(decoded(longer).outcome, Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::ofi
