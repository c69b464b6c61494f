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

TEST(Name, PrintableEscapesWhatATerminalWouldTake) {
    EXPECT_EQ(printable("plain name"), "plain name");
    EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
    EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
    EXPECT_EQ(printable("a\\b"), "a\\\\b");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a C1 control: CSI in one character
}

TEST(Name, Utf8SequencesByTheBook) {
    EXPECT_EQ(utf8_sequence_bytes("a"), 1u);
    EXPECT_EQ(utf8_sequence_bytes("\xc3\xa9"), 2u);
    EXPECT_EQ(utf8_sequence_bytes("\xe2\x82\xac"), 3u);
    EXPECT_EQ(utf8_sequence_bytes("\xf0\x9f\x98\x80"), 4u);
    for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xff"})
        EXPECT_EQ(utf8_sequence_bytes(bad), 0u) << printable(bad);
}

}  // namespace
}  // namespace cinnabar::files
