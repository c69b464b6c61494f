// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/handshake_wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace cinnabar::tls {
namespace {

TEST(HandshakeWire, PassesOnWhatItWasFed) {
    HandshakeWire wire;
    wire.begin(nullptr);
    std::array<std::byte, 8> got{};
    EXPECT_EQ(wire.receive(got.data(), got.size()).why, Errc::again);
    const std::array<std::byte, 5> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
    wire.feed(bytes);
    EXPECT_EQ(wire.receive(got.data(), 3).bytes, 3u);
    EXPECT_EQ(wire.unread(), 2u);
    EXPECT_EQ(wire.receive(got.data() + 3, 5).bytes, 2u);
    EXPECT_EQ(got[4], std::byte{5});
    EXPECT_EQ(wire.receive(got.data(), got.size()).why, Errc::again);
    EXPECT_EQ(wire.log_name(), "a peer");
}

TEST(HandshakeWire, HoldsABoundedNumberOfBytes) {
    HandshakeWire wire;
    wire.begin(nullptr);
    const std::vector<std::byte> flight(16 * 1024, std::byte{7});
    std::size_t held = 0;
    for (int i = 0; i < 8; ++i) held += wire.send(flight.data(), flight.size()).bytes;
    EXPECT_EQ(held, 64u * 1024u);
    EXPECT_EQ(wire.send(flight.data(), 1).why, Errc::again);
    EXPECT_EQ(wire.unsent().size(), held);
    wire.sent(1'000);
    EXPECT_EQ(wire.unsent().size(), held - 1'000);
    wire.sent(held - 1'000);
    EXPECT_TRUE(wire.unsent().empty());
    EXPECT_EQ(wire.send(flight.data(), flight.size()).bytes, flight.size());
}

TEST(HandshakeWire, ThatWasCutPassesNothingOn) {
    HandshakeWire wire;
    wire.begin(nullptr);
    wire.cut();
    std::byte byte{};
    wire.feed({&byte, 1});
    EXPECT_EQ(wire.receive(&byte, 1).why, Errc::peer_lost);
    EXPECT_EQ(wire.send(&byte, 1).why, Errc::peer_lost);
}

}  // namespace
}  // namespace cinnabar::tls
