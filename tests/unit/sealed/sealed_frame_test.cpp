// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/frame.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cinnabar::tls {
namespace {

TEST(SealedFrame, EnvelopesAreOfAKnownKindAndOtherwiseZero) {
    std::array<std::byte, envelope_bytes> bytes{};
    Envelope kind{};
    for (const Envelope each : {Envelope::handshake, Envelope::sealed}) {
        encode_envelope(each, bytes);
        ASSERT_TRUE(decode_envelope(bytes, kind));
        EXPECT_EQ(kind, each);
    }
    EXPECT_FALSE(decode_envelope(ConstBytes(bytes).first(envelope_bytes - 1), kind));
    bytes[7] = std::byte{1};
    EXPECT_FALSE(decode_envelope(bytes, kind));
    bytes = {};
    EXPECT_FALSE(decode_envelope(bytes, kind));
    bytes[0] = std::byte{3};
    EXPECT_FALSE(decode_envelope(bytes, kind));
}

TEST(SealedFrame, HeadsSurviveAndReservedBytesAreZero) {
    const SealedHead head{19, 1, Errc::permission, 0x0102030405060708};
    std::array<std::byte, sealed_head_bytes> bytes{};
    head.encode(bytes);
    SealedHead got;
    ASSERT_TRUE(got.decode(bytes));
    EXPECT_EQ(got.kind, head.kind);
    EXPECT_EQ(got.flags, head.flags);
    EXPECT_EQ(got.status, head.status);
    EXPECT_EQ(got.id, head.id);
    for (std::size_t at = 3; at < 8; ++at) {
        auto wrong = bytes;
        wrong[at] = std::byte{1};
        EXPECT_FALSE(got.decode(wrong)) << at;
    }
}

TEST(SealedFrame, TheNumberIsPartOfWhatIsAuthenticated) {
    std::array<std::byte, envelope_bytes> bytes{};
    encode_envelope(Envelope::sealed, bytes);
    EXPECT_NE(context_of(bytes, 1), context_of(bytes, 2));
    EXPECT_EQ(context_of(bytes, 1), context_of(bytes, 1));
}

TEST(SealedFrame, GreetingsSurviveAndAreOfOneSize) {
    SealedGreeting greeting;
    greeting.hello.incarnation = 5;
    greeting.hello.message_bytes_max = na::message_bytes_min;
    greeting.number = 77;
    std::array<std::byte, SealedGreeting::wire_bytes> bytes{};
    greeting.encode(bytes);
    SealedGreeting got;
    ASSERT_EQ(got.decode(bytes), Errc::ok);
    EXPECT_EQ(got.hello.incarnation, 5u);
    EXPECT_EQ(got.number, 77u);
    EXPECT_EQ(got.decode(ConstBytes(bytes).first(bytes.size() - 1)), Errc::protocol);
    bytes[0] ^= std::byte{1};
    EXPECT_EQ(got.decode(bytes), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::tls
