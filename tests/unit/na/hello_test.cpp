// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/hello.hpp>

#include <gtest/gtest.h>

namespace cinnabar::na {
namespace {

Hello sample() {
    Hello hello;
    hello.kind = HelloKind::lane;
    hello.reason = 9;
    hello.features = 0x01020304;
    hello.incarnation = 0x1112131415161718;
    hello.peer_incarnation = 0x2122232425262728;
    hello.context = 0x3132;
    hello.peer_context = 0x4142;
    hello.message_bytes_max = 0x51525354;
    hello.credits = 0x6162;
    hello.lane = 0x71;
    hello.auth_method = 1;
    hello.nonce = 0x81828384;
    return hello;
}

TEST(Hello, ComesBackAsItWasSent) {
    std::array<std::byte, hello_bytes> bytes;
    sample().encode(bytes);
    Hello hello;
    ASSERT_EQ(Hello::decode(bytes, hello), Errc::ok);
    const Hello sent = sample();
    EXPECT_EQ(hello.kind, sent.kind);
    EXPECT_EQ(hello.reason, sent.reason);
    EXPECT_EQ(hello.features, sent.features);
    EXPECT_EQ(hello.incarnation, sent.incarnation);
    EXPECT_EQ(hello.peer_incarnation, sent.peer_incarnation);
    EXPECT_EQ(hello.context, sent.context);
    EXPECT_EQ(hello.peer_context, sent.peer_context);
    EXPECT_EQ(hello.message_bytes_max, sent.message_bytes_max);
    EXPECT_EQ(hello.credits, sent.credits);
    EXPECT_EQ(hello.lane, sent.lane);
    EXPECT_EQ(hello.auth_method, sent.auth_method);
    EXPECT_EQ(hello.nonce, sent.nonce);
}

TEST(Hello, IsNotMistakenForMercury) {
    std::array<std::byte, hello_bytes> bytes;
    sample().encode(bytes);
    EXPECT_NE(bytes[0], std::byte{0xd7});
}

TEST(Hello, CutShortAnywhereIsRefused) {
    std::array<std::byte, hello_bytes> bytes;
    sample().encode(bytes);
    for (std::size_t count = 0; count < hello_bytes; ++count) {
        Hello hello;
        EXPECT_EQ(Hello::decode(ConstBytes(bytes).first(count), hello), Errc::protocol) << count;
    }
}

TEST(Hello, WrongMagicOrVersionIsRefused) {
    for (std::size_t at = 0; at < 5; ++at) {
        std::array<std::byte, hello_bytes> bytes;
        sample().encode(bytes);
        bytes[at] ^= std::byte{1};
        Hello hello;
        EXPECT_EQ(Hello::decode(bytes, hello), Errc::protocol) << at;
    }
}

TEST(Hello, UnknownKindsAreRefused) {
    for (const int kind : {0, 5, 77, 255}) {
        std::array<std::byte, hello_bytes> bytes;
        sample().encode(bytes);
        bytes[5] = static_cast<std::byte>(kind);
        Hello hello;
        EXPECT_EQ(Hello::decode(bytes, hello), Errc::protocol) << kind;
    }
}

TEST(Hello, NobodyAndNoRoomAreRefused) {
    std::array<std::byte, hello_bytes> bytes;
    Hello nobody = sample();
    nobody.incarnation = 0;
    nobody.encode(bytes);
    Hello hello;
    EXPECT_EQ(Hello::decode(bytes, hello), Errc::protocol);
    Hello no_room = sample();
    no_room.message_bytes_max = message_bytes_min - 1;
    no_room.encode(bytes);
    EXPECT_EQ(Hello::decode(bytes, hello), Errc::protocol);
    // A reject needs neither: it may come before anything is known.
    nobody.kind = HelloKind::reject;
    nobody.message_bytes_max = 0;
    nobody.encode(bytes);
    EXPECT_EQ(Hello::decode(bytes, hello), Errc::ok);
}

}  // namespace
}  // namespace cinnabar::na
