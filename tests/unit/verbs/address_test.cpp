// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

na::Uri uri(std::string_view text) { return na::Uri::parse(text).value(); }

TEST(Address, OfAHostKeepsItsPort) {
    const auto wanted = read_address(uri("verbs://127.0.0.1:5000"), {}).value();
    EXPECT_TRUE(wanted.device.empty());
    ASSERT_EQ(wanted.addresses.size(), 1u);
    EXPECT_EQ(wanted.addresses[0].endpoint("verbs"), "verbs://127.0.0.1:5000");
    EXPECT_EQ(read_address(uri("verbs://[::1]:7"), {}).value().addresses[0].endpoint("verbs"), "verbs://[::1]:7");
}

TEST(Address, OfADeviceTakesWhateverItsInterfaceHas) {
    EXPECT_EQ(read_address(uri("verbs://mlx5_0:5000"), {"mlx5_0"}).value().device, "mlx5_0");
    EXPECT_TRUE(read_address(uri("verbs://"), {"mlx5_0"}).value().device.empty());
    for (const SocketAddress& address : read_address(uri("verbs://"), {}).value().addresses) {
        EXPECT_FALSE(address.is_loopback());
    }
}

TEST(Address, OfADeviceAndAnInterface) {
    // The loopback interface has no RDMA device.
    EXPECT_EQ(read_address(uri("verbs://mlx5_0/lo:5000"), {"mlx5_0"}).code(), Errc::bad_address);
    EXPECT_EQ(read_address(uri("verbs://mlx5_0/nothing-of-that-name"), {"mlx5_0"}).code(), Errc::bad_address);
    for (const char* text : {"verbs://mlx5_0/eth0:x", "verbs://mlx5_0/eth0:", "verbs://mlx5_0/eth0:65536"}) {
        EXPECT_EQ(read_address(uri(text), {"mlx5_0"}).code(), Errc::bad_address) << text;
    }
}

}  // namespace
}  // namespace cinnabar::verbs
