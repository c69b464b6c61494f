// SPDX-License-Identifier: BSD-3-Clause
// Which permissions and times are the same for file systems that hold them less exactly, and what is found out of them.
#include "file/dos_name.hpp"
#include "support/content.hpp"

#include <cinnabar/files/attribute_precision.hpp>
#include <cinnabar/files/root.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

constexpr std::int64_t year_1980 = 315'532'800;

Attributes attributes(std::uint32_t mode, std::int64_t seconds, std::uint32_t nanoseconds) {
    Attributes result;
    result.mode = mode;
    result.modified_s = seconds;
    result.modified_ns = nanoseconds;
    return result;
}

TEST(AttributePrecision, WhatIsHeldExactlyIsTheSameOnlyIfItIsEqual) {
    const AttributePrecision exact;
    const auto one = attributes(0640, 1000, 5);
    EXPECT_TRUE(exact.same_mode_and_time(one, one));
    EXPECT_FALSE(exact.same_mode_and_time(one, attributes(0640, 1000, 6)));
    EXPECT_FALSE(exact.same_mode_and_time(one, attributes(0640, 1001, 5)));
    EXPECT_FALSE(exact.same_mode_and_time(one, attributes(0600, 1000, 5)));
    EXPECT_FALSE(exact.same_mode_and_time(attributes(0640, -1, 5), attributes(0640, -2, 5)));
}

TEST(AttributePrecision, TimesAreComparedInTheStepsOfTheFileSystem) {
    const auto same = [](std::uint64_t step_ns, std::int64_t a_s, std::uint32_t a_ns, std::int64_t b_s,
                         std::uint32_t b_ns) {
        AttributePrecision by;
        by.time_step_ns = step_ns;
        return by.same_mode_and_time(attributes(0644, a_s, a_ns), attributes(0644, b_s, b_ns));
    };
    EXPECT_TRUE(same(100, 7, 1299, 7, 1200));
    EXPECT_FALSE(same(100, 7, 1299, 7, 1300));
    EXPECT_TRUE(same(1'000'000'000, 7, 999'999'999, 7, 0));
    EXPECT_FALSE(same(1'000'000'000, 7, 0, 8, 0));
    EXPECT_TRUE(same(2'000'000'000, 9, 999'999'999, 8, 0));
    EXPECT_FALSE(same(2'000'000'000, 9, 0, 10, 0)) << "one second, and yet two steps";
    EXPECT_TRUE(same(2'000'000'000, -1, 5, -2, 0)) << "cut to the earlier one, also before 1970";
    EXPECT_FALSE(same(2'000'000'000, -1, 0, 0, 0));
}

TEST(AttributePrecision, TimesThatAreTooOldAreOneTime) {
    AttributePrecision by;
    by.oldest_s = year_1980;
    EXPECT_TRUE(by.same_mode_and_time(attributes(0644, 1, 5), attributes(0644, year_1980, 0)));
    EXPECT_FALSE(by.same_mode_and_time(attributes(0644, 1, 5), attributes(0644, year_1980 + 1, 0)));
}

TEST(AttributePrecision, PermissionsThatCannotBeSetAreNotCompared) {
    AttributePrecision by;
    by.mode_bits = 0200;
    EXPECT_TRUE(by.same_mode(attributes(0644, 0, 0), attributes(0755, 9, 9)));
    EXPECT_FALSE(by.same_mode(attributes(0444, 0, 0), attributes(0755, 0, 0)));
    EXPECT_FALSE(by.same_mode_and_time(attributes(0644, 0, 0), attributes(0755, 9, 9)));
}

TEST(AttributePrecision, WhatNoFileSystemDoesIsNotPossible) {
    EXPECT_TRUE(AttributePrecision{}.is_possible());
    EXPECT_TRUE((AttributePrecision{2'000'000'000, year_1980, 0}.is_possible()));
    EXPECT_FALSE((AttributePrecision{0, 0, 0777}.is_possible()));
    EXPECT_FALSE((AttributePrecision{2'000'000'001, 0, 0777}.is_possible()));
    EXPECT_FALSE((AttributePrecision{1, 0, 01000}.is_possible()));
}

TEST(AttributePrecision, IsFoundOutAndNothingIsLeftOfThat) {
    const support::Folder folder(support::memory_folder());
    EXPECT_EQ(Root::open(folder.path().string())->probe_precision(), AttributePrecision{});
    EXPECT_EQ(Root::serve_read_only(folder.path().string())->probe_precision(), AttributePrecision{});
    EXPECT_EQ(folder.list(), std::vector<std::string>{});
}

TEST(NamesThatAreHeld, DependOnTheFileSystem) {
    using enum NameRules;
    for (const auto rules : {any, exfat, vfat}) {
        for (const std::string name : {"a", "a.b", ".a", "a b", "..a", "\xc3\xa4", "a~1"})
            EXPECT_TRUE(check_held(rules, name, name).ok()) << name;
    }
    const std::vector<std::string> not_held{"a:b", "a.", "...", "\"", "*", "a?", "<", ">", "|", "\\", "a\n", "\x1f"};
    for (const auto& name : not_held) {
        EXPECT_TRUE(check_held(any, name, name).ok()) << name;
        EXPECT_EQ(check_held(vfat, name, name).code(), Errc::invalid_argument) << name;
        EXPECT_EQ(check_held(exfat, name, name).code(), Errc::invalid_argument) << name;
    }
    EXPECT_EQ(check_held(vfat, "a ", "a ").code(), Errc::invalid_argument);
    EXPECT_TRUE(check_held(exfat, "a ", "a ").ok());
}

}  // namespace
}  // namespace cinnabar::files
