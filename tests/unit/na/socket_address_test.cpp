// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/socket_address.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::na {
namespace {

std::vector<std::string> endpoints(const std::string& text, Purpose purpose) {
    auto found = resolve(Uri::parse(text).value(), purpose);
    std::vector<std::string> texts;
    if (!found) return texts;
    for (const SocketAddress& address : *found) texts.push_back(address.endpoint("tcp"));
    return texts;
}

Errc failure(const std::string& text) { return resolve(Uri::parse(text).value(), Purpose::dial).code(); }

TEST(Address, NumbersAreCanonical) {
    EXPECT_EQ(endpoints("tcp://127.0.0.1:5000", Purpose::dial), std::vector<std::string>{"tcp://127.0.0.1:5000"});
    EXPECT_EQ(endpoints("tcp://[0:0:0::1]:5000", Purpose::dial), std::vector<std::string>{"tcp://[::1]:5000"});
}

TEST(Address, V4InV6IsV4) {
    EXPECT_EQ(endpoints("tcp://[::ffff:127.0.0.1]:5000", Purpose::dial),
              std::vector<std::string>{"tcp://127.0.0.1:5000"});
}

TEST(Address, NamesOfHostsAndInterfaces) {
    const auto local = endpoints("tcp://localhost:7", Purpose::dial);
    ASSERT_FALSE(local.empty());
    for (const std::string& endpoint : local) {
        EXPECT_TRUE(endpoint == "tcp://127.0.0.1:7" || endpoint == "tcp://[::1]:7") << endpoint;
    }
    const auto lo = endpoints("tcp://lo:7", Purpose::listen);
    EXPECT_NE(std::find(lo.begin(), lo.end(), "tcp://127.0.0.1:7"), lo.end());
}

TEST(Address, NoHostIsTheLoopbackToDialAndAllInterfacesToListenOn) {
    const auto dial = endpoints("tcp://:7", Purpose::dial);
    ASSERT_FALSE(dial.empty());
    EXPECT_EQ(dial.front(), "tcp://127.0.0.1:7");
    const auto listen = endpoints("tcp://:7", Purpose::listen);
    ASSERT_EQ(listen.size(), 2u);
    EXPECT_EQ(listen.back(), "tcp://0.0.0.0:7");
}

TEST(Address, AddressesThatCannotBeDialledAreReported) {
    EXPECT_EQ(failure("tcp://127.0.0.1"), Errc::bad_address);
    EXPECT_EQ(failure("tcp://127.0.0.1:0"), Errc::bad_address);
    EXPECT_EQ(failure("tcp://no-such-host.invalid:7"), Errc::bad_address);
}

TEST(Address, AllInterfacesAreNamedByTheirAddresses) {
    for (const std::string& endpoint : reachable_endpoints(SocketAddress::any_v4(7), "tcp")) {
        EXPECT_NE(endpoint, "tcp://0.0.0.0:7");
        EXPECT_TRUE(endpoint.ends_with(":7"));
    }
    EXPECT_FALSE(reachable_endpoints(SocketAddress::any_v6(7), "tcp").empty());
}

}  // namespace
}  // namespace cinnabar::na
