// SPDX-License-Identifier: BSD-3-Clause
// What is said where RDMA cannot be used, and where it can.
#include <cinnabar/plugins/verbs.hpp>

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

Result<std::unique_ptr<na::Transport>> open(const std::string& text, const na::TransportOptions& options = {}) {
    return plugin_info.open(na::Uri::parse(text).value(), options);
}

// Where the kernel's software devices are, as in the virtual machine of tests/vm.
bool tested_here() { return open("verbs://rxe0").ok() && open("verbs://siw0").ok(); }

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
