// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t message_max = 4096;

std::array<std::byte, frame_header_bytes> encoded(const Frame& frame) {
    std::array<std::byte, frame_header_bytes> bytes{};
    frame.encode(bytes);
    return bytes;
}

Errc decoded(const Frame& frame, LaneKind lane) {
    Frame out;
    return decode_header(encoded(frame), lane, message_max, out);
}

Errc decode_body(ConstBytes in, const Frame& frame, FrameBody& out) {
    return na::decode_access_body(access_of(frame), in, out);
}

const std::vector<FrameKind> lane0{FrameKind::unexpected, FrameKind::expected, FrameKind::lane_wanted};
const std::vector<FrameKind> lane1{FrameKind::get,          FrameKind::get_data,   FrameKind::put,
                                   FrameKind::put_done,     FrameKind::stop,       FrameKind::fetch_add,
                                   FrameKind::compare_swap, FrameKind::atomic_done};

TEST(TcpFrame, HeadersRoundTrip) {
    Frame out;
    ASSERT_EQ(decode_header(encoded({FrameKind::expected, 0, Errc::ok, 4096, 0x1122334455667788}), LaneKind::messages,
                            message_max, out),
              Errc::ok);
    EXPECT_EQ(out.kind, FrameKind::expected);
    EXPECT_EQ(out.bytes, 4096u);
    EXPECT_EQ(out.id, 0x1122334455667788u);
}

TEST(TcpFrame, BytesAreWhereTheDocumentSays) {
    const auto bytes = encoded({FrameKind::put_done, 0, Errc::permission, 0, 0x0807060504030201});
    const std::array<std::uint8_t, 16> expected{20, 0, 14, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<std::uint8_t>(bytes[i]), expected[i]) << i;
}

TEST(TcpFrame, EachKindBelongsToOneLane) {
    for (const FrameKind kind : lane0) {
        EXPECT_EQ(decoded({kind}, LaneKind::messages), Errc::ok);
        EXPECT_EQ(decoded({kind}, LaneKind::bulk), Errc::protocol);
    }
    for (const FrameKind kind : lane1) {
        EXPECT_EQ(decoded({kind}, LaneKind::bulk), Errc::ok);
        EXPECT_EQ(decoded({kind}, LaneKind::messages), Errc::protocol);
    }
    for (const unsigned unknown : {0u, 4u, 15u, 25u, 255u}) {
        EXPECT_EQ(decoded({static_cast<FrameKind>(unknown)}, LaneKind::messages), Errc::protocol);
        EXPECT_EQ(decoded({static_cast<FrameKind>(unknown)}, LaneKind::bulk), Errc::protocol);
    }
}

TEST(TcpFrame, LengthsOverTheLimitAreRefused) {
    EXPECT_EQ(decoded({FrameKind::unexpected, 0, Errc::ok, message_max}, LaneKind::messages), Errc::ok);
    EXPECT_EQ(decoded({FrameKind::unexpected, 0, Errc::ok, message_max + 1}, LaneKind::messages), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::unexpected, 0, Errc::ok, 0xffffffff}, LaneKind::messages), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::put, 0, Errc::ok, frame_data_bytes_max}, LaneKind::bulk), Errc::ok);
    EXPECT_EQ(decoded({FrameKind::put, 0, Errc::ok, frame_data_bytes_max + 1}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::get_data, 0, Errc::ok, 0xffffffff}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::get, 0, Errc::ok, 1}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::lane_wanted, 0, Errc::ok, 1}, LaneKind::messages), Errc::protocol);
}

TEST(TcpFrame, FlagsAndStatusOnlyForTheirKinds) {
    EXPECT_EQ(decoded({FrameKind::put, flag_notify}, LaneKind::bulk), Errc::ok);
    EXPECT_EQ(decoded({FrameKind::put, 2}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::get, flag_notify}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::unexpected, 1}, LaneKind::messages), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::unexpected, 0, Errc::io}, LaneKind::messages), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::put_done, 0, Errc::permission}, LaneKind::bulk), Errc::ok);
    EXPECT_EQ(decoded({FrameKind::put_done, 0, static_cast<Errc>(errc_count)}, LaneKind::bulk), Errc::protocol);
    EXPECT_EQ(decoded({FrameKind::get_failed, 0, Errc::ok}, LaneKind::bulk), Errc::protocol)
        << "a failure has a reason";
    auto bytes = encoded({FrameKind::get});
    bytes[3] = std::byte{1};
    Frame out;
    EXPECT_EQ(decode_header(bytes, LaneKind::bulk, message_max, out), Errc::protocol);
}

TEST(TcpFrame, BodiesRoundTrip) {
    FrameBody body;
    body.key = {3, 4, 0xabcdef0123456789};
    body.offset = 1u << 30;
    body.left = 77;
    body.notify = 0xcafe;
    body.operand = 5;
    body.compare = 6;
    body.value = 7;
    for (const FrameKind kind : lane1) {
        std::array<std::byte, frame_header_bytes + frame_body_bytes_max> bytes{};
        const Frame frame{kind, 0, Errc::ok, kind == FrameKind::put ? 77u : 0u, 9};
        ASSERT_EQ(encode_frame(frame, body, bytes), frame_header_bytes + body_bytes(kind));
        FrameBody out;
        ASSERT_EQ(decode_body(ConstBytes(bytes).subspan(frame_header_bytes, body_bytes(kind)), frame, out), Errc::ok);
        if (kind == FrameKind::get || kind == FrameKind::put) {
            EXPECT_EQ(out.left, 77u);
        }
        if (kind == FrameKind::put) {
            EXPECT_EQ(out.notify, 0xcafeu);
        }
        if (kind == FrameKind::compare_swap) {
            EXPECT_EQ(out.operand, 5u);
            EXPECT_EQ(out.compare, 6u);
        }
        if (kind == FrameKind::atomic_done) {
            EXPECT_EQ(out.value, 7u);
        } else if (body_bytes(kind) > 0) {
            EXPECT_EQ(out.key.key, body.key.key);
            EXPECT_EQ(out.offset, body.offset);
        }
    }
}

TEST(TcpFrame, ReservedBytesOfABodyAreChecked) {
    FrameBody body;
    body.compare = 6;  // of neither kind below
    for (const auto& [kind, zero] : {std::pair{FrameKind::put, 36u}, std::pair{FrameKind::fetch_add, 32u}}) {
        std::array<std::byte, frame_header_bytes + frame_body_bytes_max> bytes{};
        const Frame frame{kind, 0, Errc::ok, 0, 1};
        (void)encode_frame(frame, body, bytes);
        FrameBody out;
        const ConstBytes encoded = ConstBytes(bytes).subspan(frame_header_bytes, body_bytes(kind));
        EXPECT_EQ(decode_body(encoded, frame, out), Errc::ok);
        for (std::size_t at = zero; at < encoded.size(); ++at) {
            bytes[frame_header_bytes + at] = std::byte{1};
            EXPECT_EQ(decode_body(encoded, frame, out), Errc::protocol) << at;
            bytes[frame_header_bytes + at] = std::byte{0};
        }
    }
}

TEST(TcpFrame, APutHasNoMoreDataThanIsLeft) {
    std::array<std::byte, frame_header_bytes + frame_body_bytes_max> bytes{};
    FrameBody body;
    body.left = 10;
    FrameBody out;
    for (const std::uint32_t count : {0u, 10u, 11u}) {
        const Frame frame{FrameKind::put, 0, Errc::ok, count, 1};
        (void)encode_frame(frame, body, bytes);
        const Errc expected = count == 10 ? Errc::ok : Errc::protocol;
        EXPECT_EQ(decode_body(ConstBytes(bytes).subspan(frame_header_bytes, 40), frame, out), expected) << count;
    }
}

TEST(TcpFrame, ATruncatedBodyIsRefused) {
    const std::array<std::byte, 40> bytes{};
    FrameBody out;
    for (const FrameKind kind : lane1) {
        for (std::size_t count = 0; count < body_bytes(kind); ++count) {
            EXPECT_EQ(decode_body(ConstBytes(bytes).first(count), {kind}, out), Errc::protocol);
        }
    }
}

}  // namespace
}  // namespace cinnabar::tcp
