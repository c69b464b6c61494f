// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include "plain_frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace cinnabar::rpc {
namespace {

constexpr std::string_view payload_text = "payload";
constexpr TargetTimes some_times{4, 5, 3, 0x1234567890};

std::vector<std::byte> request_of(std::uint16_t flags) {
    std::vector<std::byte> bytes(request_header_bytes + payload_text.size() + behind_payload(flags));
    std::memcpy(bytes.data() + request_header_bytes, payload_text.data(), payload_text.size());
    RequestHeader header;
    header.flags = flags;
    header.payload_bytes = static_cast<std::uint32_t>(payload_text.size());
    header.rpc = 7;
    header.place = 9;
    header.trace = {{1, 2}, 3};
    encode_request(header, bytes);
    return bytes;
}

std::vector<std::byte> reply_of(std::uint16_t flags) {
    const std::size_t behind = (flags & flag_times) != 0 ? times_bytes : 0;
    std::vector<std::byte> bytes(reply_header_bytes + payload_text.size() + behind);
    std::memcpy(bytes.data() + reply_header_bytes, payload_text.data(), payload_text.size());
    ReplyHeader header;
    header.flags = flags;
    header.payload_bytes = static_cast<std::uint32_t>(payload_text.size());
    encode_reply(header, bytes);
    if (behind != 0) encode_times(some_times, Bytes(bytes).last(behind));
    return bytes;
}

Errc decoded_request(ConstBytes bytes) {
    RequestHeader header;
    ConstBytes payload;
    return decode_request(bytes, header, payload);
}

Errc decoded_reply(ConstBytes bytes) {
    ReplyHeader header;
    ConstBytes payload;
    return decode_reply(bytes, header, payload);
}

// A frame that the fast path takes for plain decodes like any other, to the same fields.
void expect_plain_request(ConstBytes bytes) {
    RequestHeader header;
    ConstBytes payload;
    ASSERT_EQ(decode_request(bytes, header, payload), Errc::ok);
    const PlainRequest plain(bytes.data());
    EXPECT_EQ(plain.flags(), header.flags);
    EXPECT_EQ(plain.rpc(), header.rpc);
    EXPECT_EQ(plain.time_left_us(), header.time_left_us);
    EXPECT_EQ(plain.shape(), header.shape);
    EXPECT_EQ(plain.provider(), header.provider);
    EXPECT_EQ(plain.payload(), payload.data());
    EXPECT_EQ(plain.payload_bytes(), payload.size());
    EXPECT_EQ(plain.traced() ? plain.trace() : TraceContext(), header.trace);
}

void expect_plain_reply(ConstBytes bytes, bool timed) {
    ReplyHeader header;
    ConstBytes payload;
    ASSERT_EQ(decode_reply(bytes, header, payload), Errc::ok);
    EXPECT_EQ(header.result, Errc::ok);
    const PlainReply plain(bytes.data());
    EXPECT_EQ(header.flags, timed ? flag_times : 0);
    EXPECT_EQ(plain.payload_bytes(), payload.size());
    EXPECT_EQ(plain.shape(), header.shape);
    EXPECT_EQ(plain.credits(), header.credits);
    EXPECT_EQ(plain.payload(), payload.data());
}

TEST(PlainFrame, WhatIsTakenForOneDecodesToTheSame) {
    for (std::uint16_t flags = 0; flags <= request_flags_known; ++flags) {
        const auto bytes = request_of(flags);
        const bool plain = (flags & (flag_large | flag_one_way | flag_checksum | flag_place)) == 0;
        EXPECT_EQ(PlainRequest::is_plain(bytes), plain) << flags;
        if (plain) expect_plain_request(bytes);
        EXPECT_FALSE(PlainRequest::is_plain(ConstBytes(bytes).first(bytes.size() - 1)));
    }
    for (const std::uint16_t flags : {std::uint16_t{0}, flag_large, flag_checksum, flag_times}) {
        const auto reply = reply_of(flags);
        for (const bool timed : {false, true}) {
            const bool plain = flags == (timed ? flag_times : 0);
            EXPECT_EQ(PlainReply::is_plain(reply, timed), plain) << flags;
            if (plain) expect_plain_reply(reply, timed);
            EXPECT_FALSE(PlainReply::is_plain(ConstBytes(reply).first(reply.size() - 1), timed));
        }
    }
    EXPECT_FALSE(PlainRequest::is_plain(reply_of(0)) || PlainReply::is_plain(request_of(0), false));
}

TEST(PlainFrame, NoBitOfAHeaderIsPassedOver) {
    for (std::size_t bit = 0; bit < request_header_bytes * 8; ++bit) {
        auto bytes = request_of(0);
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        if (PlainRequest::is_plain(bytes)) expect_plain_request(bytes);
    }
    for (std::size_t bit = 0; bit < reply_header_bytes * 8; ++bit) {
        auto bytes = reply_of(0);
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        if (PlainReply::is_plain(bytes, false)) expect_plain_reply(bytes, false);
        if (PlainReply::is_plain(bytes, true)) expect_plain_reply(bytes, true);
    }
}

TEST(PlainFrame, IsWrittenAsAnyOther) {
    RequestHeader header{0, 7, 0x1122334455667788, 99, 0x1234, 0x5678, 0, {}};
    std::vector<std::byte> expected(request_header_bytes + 7);
    auto written = expected;
    encode_request(header, expected);
    PlainRequest::encode(written.data(), 7, header.rpc, header.time_left_us, header.shape, header.provider);
    EXPECT_EQ(written, expected);
    header.flags = flag_times;
    encode_request(header, expected);
    PlainRequest::ask_for_times(written.data());
    EXPECT_EQ(written, expected);
    expected.assign(reply_header_bytes + 7, std::byte{0});
    written = expected;
    encode_reply({Errc::ok, 0, 7, 0x1234, 0x5678}, expected);
    PlainReply::encode(written.data(), 7, 0x1234, 0x5678);
    EXPECT_EQ(written, expected);
    expected.resize(expected.size() + times_bytes);
    written = expected;
    encode_reply({Errc::ok, flag_times, 7, 0x1234, 0x5678}, expected);
    encode_times(some_times, Bytes(expected).last(times_bytes));
    PlainReply::add_times(written.data(), written.size() - times_bytes, some_times);
    EXPECT_EQ(written, expected);
}

TEST(Frame, ATraceContextStandsBehindThePayload) {
    const auto bytes = request_of(flag_trace | flag_checksum);
    RequestHeader header;
    ConstBytes payload;
    ASSERT_EQ(decode_request(bytes, header, payload), Errc::ok);
    EXPECT_EQ(as_text(payload), payload_text);
    EXPECT_EQ(header.trace, (TraceContext{{1, 2}, 3}));
    EXPECT_EQ(header.place, 0u);
}

TEST(Frame, APlaceStandsBetweenThePayloadAndTheTraceContext) {
    for (const std::uint16_t flags : {flag_place, std::uint16_t(flag_place | flag_trace)}) {
        const auto bytes = request_of(flags);
        RequestHeader header;
        ConstBytes payload;
        ASSERT_EQ(decode_request(bytes, header, payload), Errc::ok);
        EXPECT_EQ(as_text(payload), payload_text);
        EXPECT_EQ(header.place, 9u);
        EXPECT_EQ(header.trace, (flags & flag_trace) != 0 ? (TraceContext{{1, 2}, 3}) : TraceContext());
    }
}

TEST(Frame, TimesOfTheTargetStandBehindThePayload) {
    const auto bytes = reply_of(flag_times | flag_checksum);
    ReplyHeader header;
    ConstBytes payload;
    ASSERT_EQ(decode_reply(bytes, header, payload), Errc::ok);
    EXPECT_EQ(as_text(payload), payload_text);
    EXPECT_EQ(header.flags, flag_times | flag_checksum);
    EXPECT_EQ(decode_times(bytes).waited_us, 4u);
    EXPECT_EQ(decode_times(bytes).handled_us, 5u);
    EXPECT_EQ(decode_times(bytes).transfers_us, 3u);
    EXPECT_EQ(decode_times(bytes).came_us, 0x1234567890u);
    EXPECT_EQ(decoded_reply(ConstBytes(bytes).first(bytes.size() - 1)), Errc::protocol);
    EXPECT_EQ(decoded_reply(ConstBytes(bytes).first(bytes.size() - times_bytes)), Errc::protocol);
}

// Without the flag the checksum word is zero, and any other value there is refused, too.
TEST(Frame, AWrongChecksumIsRefused) {
    for (const std::uint16_t flags : {std::uint16_t{0}, flag_checksum}) {
        auto request = request_of(flags);
        auto reply = reply_of(flags);
        ASSERT_EQ(decoded_request(request), Errc::ok);
        ASSERT_EQ(decoded_reply(reply), Errc::ok);
        request[28] ^= std::byte{1};
        reply[12] ^= std::byte{1};
        EXPECT_EQ(decoded_request(request), Errc::bad_checksum);
        EXPECT_EQ(decoded_reply(reply), Errc::bad_checksum);
    }
    for (std::size_t i = 0; i < payload_text.size(); ++i) {
        auto request = request_of(flag_checksum);
        auto reply = reply_of(flag_checksum);
        request[request_header_bytes + i] ^= std::byte{0x10};
        reply[reply_header_bytes + i] ^= std::byte{0x10};
        EXPECT_EQ(decoded_request(request), Errc::bad_checksum) << i;
        EXPECT_EQ(decoded_reply(reply), Errc::bad_checksum) << i;
    }
}

TEST(Frame, CutFramesAreRefused) {
    for (const std::uint16_t flags : {std::uint16_t{0}, flag_checksum, flag_trace, flag_place}) {
        const auto bytes = request_of(flags);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            EXPECT_EQ(decoded_request(ConstBytes(bytes).first(size)), Errc::protocol) << size;
        }
    }
    const auto bytes = reply_of(flag_checksum);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_EQ(decoded_reply(ConstBytes(bytes).first(size)), Errc::protocol) << size;
    }
}

TEST(Frame, UnknownFlagsAreRefused) {
    auto request = request_of(0);
    request[2] |= std::byte{0x20};
    EXPECT_EQ(decoded_request(request), Errc::protocol);
    request = request_of(0);
    request[3] |= std::byte{1};
    EXPECT_EQ(decoded_request(request), Errc::protocol);
    auto reply = reply_of(0);
    reply[2] |= std::byte{static_cast<unsigned char>(flag_trace)};
    EXPECT_EQ(decoded_reply(reply), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::rpc
