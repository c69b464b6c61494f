// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/uri.hpp>

#include <gtest/gtest.h>

namespace cinnabar::na {
namespace {

TEST(Uri, AllItsParts) {
    const Uri uri = Uri::parse("TCP://host.example:1234/a/b?context=3&x&y=1=2").value();
    EXPECT_EQ(uri.scheme, "tcp");
    EXPECT_EQ(uri.host, "host.example");
    EXPECT_EQ(uri.port, 1234);
    EXPECT_EQ(uri.path, "a/b");
    EXPECT_EQ(uri.option("context"), "3");
    EXPECT_EQ(uri.option("x"), "");
    EXPECT_EQ(uri.option("y"), "1=2");
    EXPECT_EQ(uri.option("none"), "");
    EXPECT_EQ(uri.query.size(), 3u);
}

TEST(Uri, LittleIsEnough) {
    const Uri uri = Uri::parse("self://").value();
    EXPECT_EQ(uri.scheme, "self");
    EXPECT_TRUE(uri.host.empty());
    EXPECT_FALSE(uri.port.has_value());
    EXPECT_EQ(uri.to_string(), "self://");
    EXPECT_EQ(Uri::parse("tcp://:0").value().port, 0);
}

TEST(Uri, Ipv6InBrackets) {
    const Uri uri = Uri::parse("tcp://[fe80::1%25eth0]:99").value();
    EXPECT_EQ(uri.host, "fe80::1%25eth0");
    EXPECT_EQ(uri.port, 99);
    EXPECT_EQ(uri.to_string(), "tcp://[fe80::1%25eth0]:99");
    EXPECT_EQ(Uri::parse("tcp://[::1]").value().host, "::1");
}

TEST(Uri, AListIsCutWhereAnotherAddressBegins) {
    using List = std::vector<std::string_view>;
    EXPECT_EQ(Uri::split("tcp://a:1"), List{"tcp://a:1"});
    EXPECT_EQ(Uri::split("tcp://:0,shm://"), (List{"tcp://:0", "shm://"}));
    EXPECT_EQ(Uri::split("tcps://a:1?key=x,y,ofi+tcp://b:2"), (List{"tcps://a:1?key=x,y", "ofi+tcp://b:2"}));
    EXPECT_EQ(Uri::split("tcp://a,"), List{"tcp://a,"}) << "refused when it is parsed";
    EXPECT_EQ(Uri::split(",tcp://a"), (List{"", "tcp://a"})) << "the same";
    EXPECT_EQ(Uri::split(""), List{""});
    EXPECT_EQ(Uri::first_of("tcp://a,b,tcp://c,shm://d"), "tcp://a,b");
}

TEST(Uri, SchemesOfOtherLibraries) {
    EXPECT_EQ(Uri::parse("ofi+tcp;ofi_rxm://eth0").value().scheme, "ofi+tcp;ofi_rxm");
    EXPECT_EQ(Uri::parse("na-sm://1.2").value().scheme, "na-sm");
}

TEST(Uri, MalformedUris) {
    const std::string too_long = "tcp://" + std::string(1100, 'a');
    for (const std::string& text : {std::string(""),
                                    std::string("tcp"),
                                    std::string("tcp:"),
                                    std::string("tcp:/host"),
                                    std::string("://host"),
                                    std::string("t cp://host"),
                                    std::string("t/cp://host"),
                                    std::string("tcp://ho st"),
                                    std::string("tcp://host\n"),
                                    std::string("tcp://h\xc3\xa4"),
                                    std::string("tcp://host:65536"),
                                    std::string("tcp://host:-1"),
                                    std::string("tcp://host:1x"),
                                    std::string("tcp://host:99999999999999999999"),
                                    std::string("tcp://[::1"),
                                    std::string("tcp://[::1]5"),
                                    std::string("tcp://::1"),
                                    std::string("tcp://a:b:1"),
                                    std::string("tcp://a\0b", 9),
                                    too_long}) {
        const auto parsed = Uri::parse(text);
        EXPECT_EQ(parsed.code(), Errc::bad_address) << text;
        if (!parsed) {
            EXPECT_FALSE(parsed.error().hint.empty());
            EXPECT_LE(parsed.error().subject.size(), 128u);
        }
    }
}

TEST(Uri, EqualMeansEqualInAllParts) {
    EXPECT_EQ(Uri::parse("tcp://a:1?x=2").value(), Uri::parse("TCP://a:1?x=2").value());
    EXPECT_NE(Uri::parse("tcp://a:1?x=2").value(), Uri::parse("tcp://a:1?x=3").value());
    EXPECT_NE(Uri::parse("tcp://a").value(), Uri::parse("tcp://a:0").value());
}

// Text that parses gives an equal URI when it is formatted and parsed again.
TEST(Uri, TextRoundTripOfRandomText) {
    constexpr std::string_view characters = "ab:/?&=[].%;+-1";
    Random random(42);
    unsigned parsed_count = 0;
    for (int i = 0; i < 200'000; ++i) {
        std::string text = "x://";
        const auto length = random.below(14);
        for (std::uint64_t k = 0; k < length; ++k) text += characters[random.below(characters.size())];
        const auto parsed = Uri::parse(text);
        if (!parsed) continue;
        ++parsed_count;
        const std::string again = parsed->to_string();
        const auto second = Uri::parse(again);
        ASSERT_TRUE(second.ok()) << text << " became " << again;
        EXPECT_EQ(*second, *parsed) << text << " became " << again;
    }
    EXPECT_GT(parsed_count, 1000u);
}

}  // namespace
}  // namespace cinnabar::na
