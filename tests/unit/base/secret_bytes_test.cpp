// SPDX-License-Identifier: BSD-3-Clause
#include "support/memory_map.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/secret_bytes.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

namespace cinnabar {
namespace {

using support::mapping_of;

TEST(SecretBytesTest, AreInNoCoreDump) {
    const auto secret = SecretBytes::make(100).value();
    EXPECT_EQ(secret.bytes().size(), 100u);
    EXPECT_TRUE(mapping_of(secret.bytes().data()).has("dd")) << mapping_of(secret.bytes().data()).flags;
}

bool may_lock() {
    rlimit locked{};
    return ::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur >= 1u << 20;
}

constexpr const char* no_mlock = "sanitizers make mlock() do nothing";

TEST(SecretBytesTest, AreLockedIfTheLimitAllowsIt) {
    if (support::sanitized) GTEST_SKIP() << no_mlock;
    if (!may_lock()) GTEST_SKIP() << "the limit of locked memory is too low";
    const auto secret = SecretBytes::make(100).value();
    EXPECT_TRUE(mapping_of(secret.bytes().data()).has("lo")) << mapping_of(secret.bytes().data()).flags;
}

TEST(SecretBytesTest, StayWhereTheyAreWhenTheyAreMoved) {
    auto secret = SecretBytes::make(3).value();
    secret.bytes()[2] = std::byte{7};
    const auto* const at = secret.bytes().data();
    const SecretBytes moved = std::move(secret);
    EXPECT_EQ(moved.bytes().data(), at);
    EXPECT_EQ(moved.bytes()[2], std::byte{7});
}

// In a child, since the limit and the privilege to ignore it are of the process, and so is the line.
int lines_without_a_limit() {
    static std::atomic<int> lines{0};
    const auto count = [](const LogLine& line, void*) {
        if (line.text.find("cannot be locked") != line.text.npos) ++lines;
    };
    set_log_sink(count, nullptr);
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || (::geteuid() == 0 && ::seteuid(65534) != 0)) return 100;
    if (!SecretBytes::make(10) || !SecretBytes::make(10)) return 101;
    return lines;
}

TEST(SecretBytesTest, SayOnceThatTheyAreNotLocked) {
    if (support::sanitized) GTEST_SKIP() << no_mlock;
    if (!may_lock()) GTEST_SKIP() << "this process has said so before";
    const pid_t child = ::fork();
    if (child == 0) ::_exit(lines_without_a_limit());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace cinnabar
