// SPDX-License-Identifier: BSD-3-Clause
// What is said where RDMA cannot be used, and that the tests which need a device say so when there is none.
#include "support/network.hpp"

#include <cinnabar/plugins/verbs.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::verbs {
namespace {

bool tested_here() {
    const auto all = support::networks();
    return std::find(all.begin(), all.end(), support::NetworkKind::verbs_rxe) != all.end();
}

Result<std::unique_ptr<na::Transport>> open(const std::string& text, const na::TransportOptions& options = {}) {
    return plugin_info.open(na::Uri::parse(text).value(), options);
}

TEST(Verbs, TheContractRunsOnTheKernelsSoftwareDevices) {
    if (!tested_here()) {
        GTEST_SKIP() << "no RDMA device here (rxe0, siw0): the contract of verbs is tested in a virtual machine";
    }
    const auto all = support::networks();
    EXPECT_NE(std::find(all.begin(), all.end(), support::NetworkKind::verbs_siw), all.end());
}

TEST(Verbs, WithoutADeviceItSaysWhatToDo) {
    if (tested_here()) GTEST_SKIP() << "there is a device";
    const auto opened = open("verbs://");
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.code() == Errc::unsupported || opened.code() == Errc::unreachable) << opened.error().message();
    EXPECT_NE(opened.error().message().find("rdma link"), std::string::npos) << opened.error().message();
}

TEST(Verbs, LimitsThatMakeNoSenseAreRefusedFirst) {
    na::TransportOptions options;
    options.message_bytes_max = 100;
    EXPECT_EQ(open("verbs://", options).code(), Errc::invalid_argument);
    options.message_bytes_max = 2 * 1024 * 1024;
    EXPECT_EQ(open("verbs://", options).code(), Errc::invalid_argument);
    options = {};
    options.receive_slots = 0;
    EXPECT_EQ(open("verbs://", options).code(), Errc::invalid_argument);
}

TEST(Verbs, TheDiagnosisNamesDeviceFabricAndLimit) {
    if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
    const std::string text = open("verbs://rxe0").value()->diagnosis();
    for (const char* part : {"rxe0 port 1", "RoCE v2", "GID index", "MTU", "locked memory"}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    const std::string iwarp = open("verbs://siw0").value()->diagnosis();
    EXPECT_NE(iwarp.find("iWARP"), std::string::npos) << iwarp;
    EXPECT_EQ(open("verbs://127.0.0.1").code(), Errc::unreachable);
    EXPECT_EQ(open("verbs://nodev/r0:0").code(), Errc::bad_address);
}

}  // namespace
}  // namespace cinnabar::verbs
