// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/hello.hpp>

#include <gtest/gtest.h>

namespace cinnabar::na {
namespace {

Hello sample() {
    Hello hello;
    hello.kind = HelloKind::lane;
    hello.incarnation = 0x1112131415161718;
    hello.peer_incarnation = 0x2122232425262728;
    hello.context = 0x3132;
    hello.peer_context = 0x4142;
    hello.message_bytes_max = 0x51525354;
    hello.credits = 0x6162;
    hello.lane = 0x71;
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
    EXPECT_EQ(hello.incarnation, sent.incarnation);
    EXPECT_EQ(hello.peer_incarnation, sent.peer_incarnation);
    EXPECT_EQ(hello.context, sent.context);
    EXPECT_EQ(hello.peer_context, sent.peer_context);
    EXPECT_EQ(hello.message_bytes_max, sent.message_bytes_max);
    EXPECT_EQ(hello.credits, sent.credits);
    EXPECT_EQ(hello.lane, sent.lane);
}

TEST(Hello, IsNotMistakenForMercury) {
    std::array<std::byte, hello_bytes> bytes;
    sample().encode(bytes);
    EXPECT_NE(bytes[0], std::byte{0xd7});
}

TEST(Hello, TruncatedIsRefused) {
    std::array<std::byte, hello_bytes> bytes;
    sample().encode(bytes);
    for (std::size_t count = 0; count < hello_bytes; ++count) {
        Hello hello;
        EXPECT_EQ(Hello::decode(ConstBytes(bytes).first(count), hello), Errc::protocol) << count;
    }
}

TEST(Hello, WrongMagicIsRefused) {
    for (std::size_t at = 0; at < 4; ++at) {
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

// The decoded Hello is still good enough to answer its sender with the reason.
TEST(Hello, UnknownFieldsThatMustNotBeIgnoredAreUnsupported) {
    const auto spoilt = [](std::size_t at, std::uint8_t value) {
        std::array<std::byte, hello_bytes> bytes;
        sample().encode(bytes);
        bytes[at] = std::byte{value};
        Hello hello;
        const Errc wrong = Hello::decode(bytes, hello);
        EXPECT_EQ(hello.incarnation, sample().incarnation);
        EXPECT_EQ(hello.context, sample().context);
        return wrong;
    };
    EXPECT_EQ(spoilt(4, 1), Errc::unsupported) << "the version before";
    EXPECT_EQ(spoilt(4, 3), Errc::unsupported) << "the version after";
    for (std::size_t at = 8; at < 12; ++at) EXPECT_EQ(spoilt(at, 0x80), Errc::unsupported) << "a feature";
    EXPECT_EQ(spoilt(38, 1), Errc::unsupported) << "an authentication method";
    EXPECT_EQ(spoilt(39, 1), Errc::unsupported) << "a zero";
    EXPECT_EQ(spoilt(7, 9), Errc::protocol) << "a reason in what is no reject";
}

// Only a dial may leave the choice of the context to the other side.
TEST(Hello, AnyContextIsForDialsAlone) {
    const auto decoded = [](HelloKind kind, ContextId sender, ContextId meant) {
        Hello hello = sample();
        hello.kind = kind;
        hello.context = sender;
        hello.peer_context = meant;
        std::array<std::byte, hello_bytes> bytes;
        hello.encode(bytes);
        return Hello::decode(bytes, hello);
    };
    EXPECT_EQ(decoded(HelloKind::dial, 1, any_context), Errc::ok);
    EXPECT_EQ(decoded(HelloKind::lane, 1, any_context), Errc::protocol);
    EXPECT_EQ(decoded(HelloKind::accept, 1, any_context), Errc::protocol);
    for (const HelloKind kind : {HelloKind::dial, HelloKind::accept, HelloKind::lane}) {
        EXPECT_EQ(decoded(kind, any_context, 1), Errc::protocol);
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
    // A reject needs neither: it may be sent before either is known.
    nobody.kind = HelloKind::reject;
    nobody.message_bytes_max = 0;
    nobody.encode(bytes);
    EXPECT_EQ(Hello::decode(bytes, hello), Errc::ok);
}

}  // namespace
}  // namespace cinnabar::na
