// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/files/name.hpp>

#include <gtest/gtest.h>

namespace cinnabar::files {
namespace {

TEST(Name, PlainNamesAndFoldersAreTaken) {
    for (const char* name : {"a", "a.txt", "folder/a", "a b", "..a", "a..", "...", ".hidden", "a\nb", "-rf", "%2e%2e"})
        EXPECT_TRUE(check_name(name).ok()) << name;
}

TEST(Name, NoWayUpOrOut) {
    for (const char* name : {"..", "../a", "a/..", "a/../b", "a/b/../../../c", "/", "/etc/passwd", "//a"})
        EXPECT_EQ(check_name(name).code(), Errc::permission) << name;
}

TEST(Name, EmptyComponentsAndDotsAreRefused) {
    for (const char* name : {"", "a/", "a//b", ".", "./a", "a/./b"})
        EXPECT_EQ(check_name(name).code(), Errc::invalid_argument) << name;
}

TEST(Name, AZeroByteIsRefused) { EXPECT_EQ(check_name(std::string_view("a\0b", 3)).code(), Errc::invalid_argument); }

TEST(Name, TheStagingFolderIsReservedAtTheTopOnly) {
    EXPECT_EQ(check_name(".cinnabar-staging").code(), Errc::permission);
    EXPECT_EQ(check_name(".cinnabar-staging/x").code(), Errc::permission);
    EXPECT_TRUE(check_name("a/.cinnabar-staging").ok());
    EXPECT_TRUE(check_name(".cinnabar-staging2").ok());
}

TEST(Name, UnfinishedFilesHaveSixteenDigits) {
    EXPECT_TRUE(is_unfinished_name(".cinnabar-0123456789abcdef.part"));
    EXPECT_TRUE(is_unfinished_name(".cinnabar-0123456789abcdef.journal"));
    for (const char* name :
         {"", ".cinnabar-", ".cinnabar-staging", ".cinnabar-0123456789abcdef.other", ".cinnabar-0123456789abcde.part",
          ".cinnabar-0123456789abcdeff.part", ".cinnabar-0123456789ABCDEF.part", "a/.cinnabar-0123456789abcdef.part"})
        EXPECT_FALSE(is_unfinished_name(name)) << name;
}

TEST(Name, LengthsHaveLimits) {
    const std::string longest(component_bytes_max, 'x');
    EXPECT_TRUE(check_name(longest).ok());
    EXPECT_EQ(check_name(longest + "x").code(), Errc::too_large);
    std::string path;
    while (path.size() + 256 <= name_bytes_max) path += longest + "/";
    path.resize(name_bytes_max, 'y');
    EXPECT_TRUE(check_name(path).ok());
    EXPECT_EQ(check_name(path + "y").code(), Errc::too_large);
    EXPECT_EQ(check_name(std::string(4096, 'n')).code(), Errc::too_large);
}

TEST(Name, TheMessageOfAHugeNameStaysShort) {
    EXPECT_LT(check_name(std::string(100'000, 'n')).error().message().size(), 256u);
}

TEST(Name, BytesThatAreNotUtf8AreAName) { EXPECT_TRUE(check_name("caf\xe9").ok()); }

TEST(Name, LeafAndParent) {
    EXPECT_EQ(leaf_of("a/b/c"), "c");
    EXPECT_EQ(parent_of("a/b/c"), "a/b");
    EXPECT_EQ(leaf_of("c"), "c");
    EXPECT_EQ(parent_of("c"), "");
    EXPECT_EQ(leaf_of("a/"), "");
}

}  // namespace
}  // namespace cinnabar::files
