// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/utf8.hpp>

#include <gtest/gtest.h>

namespace cinnabar {
namespace {

TEST(Printable, EscapesWhatATerminalWouldTake) {
    EXPECT_EQ(printable("plain name"), "plain name");
    EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
    EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
    EXPECT_EQ(printable("a\\b"), "a\\\\b");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a C1 control: CSI in one character
}

TEST(Utf8, SequencesByTheBook) {
    EXPECT_EQ(utf8_sequence_bytes("a"), 1u);
    EXPECT_EQ(utf8_sequence_bytes("\xc3\xa9"), 2u);
    EXPECT_EQ(utf8_sequence_bytes("\xe2\x82\xac"), 3u);
    EXPECT_EQ(utf8_sequence_bytes("\xf0\x9f\x98\x80"), 4u);
    for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xff"})
        EXPECT_EQ(utf8_sequence_bytes(bad), 0u) << printable(bad);
}

}  // namespace
}  // namespace cinnabar
