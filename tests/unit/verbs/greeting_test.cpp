// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include "credits.hpp"
#include "message_header.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <vector>

namespace cinnabar::verbs {
namespace {

Greeting sample() {
    Greeting greeting;
    greeting.hello.incarnation = 77;
    greeting.hello.context = 3;
    greeting.hello.message_bytes_max = 4096;
    greeting.window = 16;
    greeting.beacon = 0x7fff'1234'5678;
    greeting.beacon_key = 0x1234'5678;
    return greeting;
}

TEST(Greeting, FitsTheRequestOfInfiniBandAndComesBack) {
    const auto bytes = sample().encode();
    EXPECT_LE(bytes.size(), 56u);
    Greeting out;
    ASSERT_EQ(Greeting::decode(bytes, out), Errc::ok);
    EXPECT_EQ(out.hello.incarnation, 77u);
    EXPECT_EQ(out.hello.context, 3u);
    EXPECT_EQ(out.window, 16u);
    EXPECT_EQ(out.beacon, 0x7fff'1234'5678u);
    EXPECT_EQ(out.beacon_key, 0x1234'5678u);
}

TEST(Greeting, PaddingIsIgnored) {
    const auto bytes = sample().encode();
    std::vector<std::byte> padded(bytes.begin(), bytes.end());
    padded.resize(196);
    Greeting out;
    EXPECT_EQ(Greeting::decode(padded, out), Errc::ok);
}

TEST(Greeting, OfAnotherProtocolIsRejected) {
    Greeting out;
    EXPECT_EQ(Greeting::decode({}, out), Errc::protocol);
    auto bytes = sample().encode();
    EXPECT_EQ(Greeting::decode(ConstBytes(bytes).first(55), out), Errc::protocol);
    bytes[0] ^= std::byte{1};
    EXPECT_EQ(Greeting::decode(bytes, out), Errc::protocol);
    Greeting closed = sample();
    closed.window = window_min - 1;
    EXPECT_EQ(Greeting::decode(closed.encode(), out), Errc::protocol) << "too small a window to live on";
    closed.hello.kind = na::HelloKind::reject;
    EXPECT_EQ(Greeting::decode(closed.encode(), out), Errc::ok) << "who says no needs none";
}

TEST(MessageHeader, ComesBack) {
    std::array<std::byte, message_header_bytes> bytes{};
    MessageHeader{MessageKind::notify, 7, 0xdead'beef, 0}.encode(bytes);
    MessageHeader out;
    ASSERT_TRUE(MessageHeader::decode(bytes, out));
    EXPECT_EQ(out.kind, MessageKind::notify);
    EXPECT_EQ(out.credits, 7);
    EXPECT_EQ(out.value, 0xdead'beefu);
}

TEST(MessageHeader, MalformedOnesAreRefused) {
    std::vector<std::byte> bytes(message_header_bytes + 8);
    MessageHeader out;
    const auto encoded_as = [&](MessageKind kind) {
        MessageHeader{kind, 0, 0, 0}.encode(std::span<std::byte, message_header_bytes>(bytes.data(), 16));
    };
    EXPECT_FALSE(MessageHeader::decode(bytes, out)) << "kind 0";
    encoded_as(static_cast<MessageKind>(5));
    EXPECT_FALSE(MessageHeader::decode(bytes, out));
    encoded_as(MessageKind::unexpected);
    EXPECT_TRUE(MessageHeader::decode(bytes, out));
    EXPECT_FALSE(MessageHeader::decode(ConstBytes(bytes).first(15), out));
    for (const MessageKind kind : {MessageKind::notify, MessageKind::credit}) {
        encoded_as(kind);
        EXPECT_FALSE(MessageHeader::decode(bytes, out)) << "bytes behind a message that has none";
        EXPECT_TRUE(MessageHeader::decode(ConstBytes(bytes).first(16), out));
    }
}

TEST(MessageHeader, ReservedBytesAreChecked) {
    struct Field {
        std::size_t at;
        std::initializer_list<MessageKind> not_in;
    };
    using enum MessageKind;
    const std::array fields{Field{1, {unexpected, expected, notify, credit}}, Field{4, {unexpected, expected, credit}},
                            Field{7, {unexpected, expected, credit}}, Field{8, {notify, credit}},
                            Field{15, {notify, credit}}};
    for (const Field& field : fields) {
        for (const MessageKind kind : field.not_in) {
            std::array<std::byte, message_header_bytes> bytes{};
            MessageHeader{kind, 0, 0, 0}.encode(bytes);
            MessageHeader out;
            EXPECT_TRUE(MessageHeader::decode(bytes, out));
            bytes[field.at] = std::byte{1};
            EXPECT_FALSE(MessageHeader::decode(bytes, out)) << static_cast<int>(kind) << ' ' << field.at;
        }
    }
}

}  // namespace
}  // namespace cinnabar::verbs
