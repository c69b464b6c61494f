// SPDX-License-Identifier: BSD-3-Clause
// Patterns for trees: the cases of rsync's manual, and patterns that are made to take long.
#include <cinnabar/files/filter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::files {
namespace {

Filter without(std::initializer_list<std::string_view> patterns) {
    Filter filter;
    for (const auto pattern : patterns) EXPECT_TRUE(filter.add(Filter::Verdict::exclude, pattern).ok()) << pattern;
    return filter;
}

bool excludes(std::string_view pattern, std::string_view path, bool folder = false) {
    return !without({pattern}).takes(path, folder);
}

TEST(Filter, APatternWithoutSlashIsComparedWithTheLastComponent) {
    EXPECT_TRUE(excludes("*.o", "a.o"));
    EXPECT_TRUE(excludes("*.o", "d/e/a.o"));
    EXPECT_FALSE(excludes("*.o", "a.o/b"));
    EXPECT_TRUE(excludes("a?c", "x/abc"));
    EXPECT_FALSE(excludes("a?c", "x/ac"));
    EXPECT_TRUE(excludes("[a-c]x", "bx"));
    EXPECT_FALSE(excludes("[!a-c]x", "bx"));
    EXPECT_TRUE(excludes("[]]x", "]x"));
    EXPECT_TRUE(excludes("[x", "[x"));
    EXPECT_TRUE(excludes("\\*", "*"));
    EXPECT_FALSE(excludes("\\*", "a"));
}

TEST(Filter, ASlashInsideMakesItAPath) {
    EXPECT_TRUE(excludes("foo/bar", "foo/bar"));
    EXPECT_TRUE(excludes("foo/bar", "x/foo/bar"));
    EXPECT_FALSE(excludes("foo/bar", "xfoo/bar"));
    EXPECT_TRUE(excludes("/foo", "foo"));
    EXPECT_FALSE(excludes("/foo", "x/foo"));
    EXPECT_FALSE(excludes("/*/c", "a/b/c"));
    EXPECT_TRUE(excludes("/**/c", "a/b/c"));
    EXPECT_TRUE(excludes("a**z", "a/b/z"));
    EXPECT_FALSE(excludes("a*z", "a/b/z"));
}

// rsync compares such patterns with the path after a slash.
TEST(Filter, TwoStarsAtTheBeginningMatchAtTheTopToo) {
    EXPECT_TRUE(excludes("**/foo", "foo"));
    EXPECT_TRUE(excludes("**/foo", "x/foo"));
    EXPECT_TRUE(excludes("**/foo", "x/y/foo"));
    EXPECT_FALSE(excludes("**/foo", "xfoo"));
    EXPECT_FALSE(excludes("**/foo", "foo/x"));
    EXPECT_TRUE(excludes("**/foo/bar", "foo/bar"));
    EXPECT_TRUE(excludes("**/foo/", "foo", true));
    EXPECT_FALSE(excludes("**/foo/", "foo", false));
    EXPECT_TRUE(excludes("**/foo/***", "foo/a/b"));
    EXPECT_TRUE(excludes("**foo", "a/xfoo"));
    EXPECT_TRUE(excludes("**", "foo"));
    EXPECT_FALSE(excludes("/**/foo", "foo")) << "anchored: something is before the second slash";
}

TEST(Filter, ClassesOfCharactersHaveNames) {
    EXPECT_TRUE(excludes("[[:alpha:]]x", "ax"));
    EXPECT_FALSE(excludes("[[:alpha:]]x", "1x"));
    EXPECT_FALSE(excludes("[[:alpha:]]x", ":x"));
    EXPECT_TRUE(excludes("[![:alpha:]]x", "1x"));
    EXPECT_TRUE(excludes("[^[:alpha:]]x", "1x"));
    EXPECT_FALSE(excludes("[^[:alpha:]]x", "ax"));
    EXPECT_TRUE(excludes("[_[:digit:]a-c]x", "_x"));
    EXPECT_TRUE(excludes("[_[:digit:]a-c]x", "7x"));
    EXPECT_TRUE(excludes("[_[:digit:]a-c]x", "bx"));
    EXPECT_FALSE(excludes("[_[:digit:]a-c]x", "dx"));
    EXPECT_TRUE(excludes("[[:upper:][:digit:]]*", "A"));
    EXPECT_FALSE(excludes("[[:alpha:]]", "\xe9")) << "of ASCII only";
    EXPECT_FALSE(excludes("[[:nothing:]]", "n")) << "an unknown name";
    EXPECT_TRUE(excludes("[[:a]b]", ":b]")) << "no name: one of '[', ':' and 'a'";
    EXPECT_FALSE(excludes("[[:alpha:]", "a")) << "not closed";
    const std::pair<std::string_view, std::string_view> members[] = {
        {"alnum", "7"}, {"alpha", "z"}, {"blank", "\t"}, {"cntrl", "\x01"}, {"digit", "0"}, {"graph", "!"},
        {"lower", "q"}, {"print", " "}, {"punct", "."},  {"space", "\n"},   {"upper", "Q"}, {"xdigit", "f"}};
    for (const auto& [name, member] : members) EXPECT_TRUE(excludes("[[:" + std::string(name) + ":]]", member)) << name;
}

TEST(Filter, ASlashAtTheEndMeansFolders) {
    EXPECT_TRUE(excludes("tmp/", "tmp", true));
    EXPECT_FALSE(excludes("tmp/", "tmp", false));
    EXPECT_TRUE(excludes("/tmp/***", "tmp", true));
    EXPECT_TRUE(excludes("/tmp/***", "tmp/a/b"));
    EXPECT_FALSE(excludes("/tmp/***", "x/tmp/a"));
    EXPECT_TRUE(excludes("tmp/***", "x/tmp/a"));
}

TEST(Filter, TheFirstThatMatchesDecides) {
    Filter filter;
    ASSERT_TRUE(filter.add(Filter::Verdict::include, "*/").ok());
    ASSERT_TRUE(filter.add(Filter::Verdict::include, "*.c").ok());
    ASSERT_TRUE(filter.add(Filter::Verdict::exclude, "*").ok());
    EXPECT_TRUE(filter.takes("d", true));
    EXPECT_TRUE(filter.takes("d/a.c", false));
    EXPECT_FALSE(filter.takes("d/a.h", false));
    EXPECT_TRUE(Filter().takes("anything", false));
}

TEST(Filter, AnEmptyPatternIsRefused) {
    for (const auto* pattern : {"", "/"}) {
        EXPECT_EQ(Filter().add(Filter::Verdict::exclude, pattern).code(), Errc::invalid_argument) << pattern;
    }
}

TEST(Filter, NoPatternTakesLong) {
    std::string pattern;
    for (int i = 0; i < 500; ++i) pattern += i % 2 == 0 ? "*a" : "**a";
    std::string text(4000, 'a');
    text.append("/b");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(matches_pattern(pattern, text));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace cinnabar::files
