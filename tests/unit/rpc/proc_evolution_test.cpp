// SPDX-License-Identifier: BSD-3-Clause
// Types that get more fields: old and new programs understand each other, and other types have another shape.
#include "proc_checks.hpp"

#include <array>
#include <bitset>
#include <map>
#include <variant>

namespace cinnabar::rpc::test {
namespace {

struct Old {
    std::int32_t id = 0;
    std::string name;
};
struct New {
    std::int32_t id = -1;
    std::string name = "nobody";
    double weight = 2.5;
    std::vector<int> marks = {1, 2};
    int grid[2] = {7, 8};
    bool operator==(const New&) const = default;
};
struct Numbers {
    int a = 1, b = 2;
};
struct MoreNumbers {
    int a = 1, b = 2, c = 3;
    bool operator==(const MoreNumbers&) const = default;
};

TEST(ProcEvolution, MissingFieldsTakeTheirDefaults) {
    New grown{5, "stale", 9.9, {9, 9, 9}, {9, 9}};
    ASSERT_EQ(decode(encoded(Old{1, "x"}), grown), Errc::ok);
    EXPECT_EQ(grown, (New{1, "x", 2.5, {1, 2}, {7, 8}}));
    ASSERT_EQ(decode({}, grown), Errc::ok);
    EXPECT_EQ(grown, New{});
}

TEST(ProcEvolution, FieldsOfAPlainRecordToo) {
    MoreNumbers more{9, 9, 9};
    ASSERT_EQ(decode(encoded(Numbers{4, 5}), more), Errc::ok);
    EXPECT_EQ(more, (MoreNumbers{4, 5, 3}));
    EXPECT_EQ(decode(ConstBytes(encoded(Numbers{4, 5})).first(7), more), Errc::protocol);
}

TEST(ProcEvolution, MoreFieldsAreIgnored) {
    Old old;
    ASSERT_EQ(decode(encoded(New{1, "x", 1, {1}, {}}), old), Errc::ok);
    EXPECT_EQ(old.id, 1);
    EXPECT_EQ(old.name, "x");
    Numbers numbers;
    ASSERT_EQ(decode(encoded(MoreNumbers{7, 8, 9}), numbers), Errc::ok);
    EXPECT_EQ(numbers.b, 8);
    Empty nothing;
    EXPECT_EQ(decode(encoded(New{}), nothing), Errc::ok);
}

TEST(ProcEvolution, ArgumentsMayBeAppended) {
    std::tuple<int, std::string, std::optional<int>> three{9, "stale", 9};
    ASSERT_EQ(decode(encoded(std::tuple<int>{1}), three), Errc::ok);
    EXPECT_EQ(three, (std::tuple<int, std::string, std::optional<int>>{1, "", std::nullopt}));
    std::pair<int, int> two{1, 2};
    ASSERT_EQ(decode(encoded(std::tuple<int>{5}), two), Errc::ok);
    EXPECT_EQ(two, (std::pair<int, int>{5, 0}));
}

TEST(ProcEvolution, WhatIsNoRecordIsComplete) {
    EXPECT_EQ(decode_error<int>({}), Errc::protocol);
    EXPECT_EQ(decode_error<std::string>({}), Errc::protocol);
    EXPECT_EQ((decode_error<std::array<int, 2>>(encoded(1))), Errc::protocol);
}

TEST(ProcEvolution, RecordsInRecordsDoNotGrow) {
    struct HoldsOld {
        Old inner;
    };
    struct HoldsNew {
        New inner;
    };
    EXPECT_EQ(decode_error<HoldsNew>(encoded(HoldsOld{{1, "x"}})), Errc::protocol);
    EXPECT_FALSE(shapes_match(shape_of<HoldsOld>(), shape_of<HoldsNew>()));
}

TEST(ProcShape, GrowingKeepsTheShapeFromBothSides) {
    EXPECT_NE(shape_of<Old>(), shape_of<New>());
    EXPECT_TRUE(shapes_match(shape_of<Old>(), shape_of<New>()));
    EXPECT_TRUE(shapes_match(shape_of<New>(), shape_of<Old>()));
    EXPECT_TRUE(shapes_match(shape_of<Empty>(), shape_of<New>()));
    EXPECT_TRUE(shapes_match(shape_of<Numbers>(), shape_of<MoreNumbers>()));
}

template <class... T>
void every_prefix_matches(TypeList<T...>) {
    const std::array<std::uint16_t, sizeof...(T)> shapes{shape_of<T>()...};
    for (const auto a : shapes)
        for (const auto b : shapes) EXPECT_TRUE(shapes_match(a, b)) << std::hex << a << " and " << b;
}
template <std::size_t N>
struct Field {
    std::array<char, N> text;
};
template <class>
struct Prefixes;
template <std::size_t... I>
struct Prefixes<std::index_sequence<I...>> {
    template <std::size_t Count>
    static auto of() {
        return []<std::size_t... J>(std::index_sequence<J...>) { return std::tuple<Field<J + 1>...>{}; }
        (std::make_index_sequence<Count>{});
    }
    using All = TypeList<decltype(of<I>())...>;
};
TEST(ProcShape, EveryPrefixOfALongRecordMatchesEveryOther) {
    every_prefix_matches(Prefixes<std::make_index_sequence<20>>::All{});
}

TEST(ProcShape, OtherTypesDoNotMatch) {
    const std::array<std::uint16_t, 14> shapes{shape_of<int>(),
                                               shape_of<unsigned>(),
                                               shape_of<std::int64_t>(),
                                               shape_of<float>(),
                                               shape_of<bool>(),
                                               shape_of<char>(),
                                               shape_of<std::string>(),
                                               shape_of<std::vector<int>>(),
                                               shape_of<std::optional<int>>(),
                                               shape_of<std::chrono::seconds>(),
                                               shape_of<std::chrono::milliseconds>(),
                                               shape_of<std::bitset<3>>(),
                                               shape_of<std::array<int, 2>>(),
                                               shape_of<Old>()};
    for (std::size_t a = 0; a < shapes.size(); ++a)
        for (std::size_t b = 0; b < shapes.size(); ++b) EXPECT_EQ(shapes_match(shapes[a], shapes[b]), a == b) << a << b;
}

TEST(ProcShape, OneFieldOfAnotherTypeIsSeen) {
    struct IntString {
        int a;
        std::string b;
    };
    struct IntDouble {
        int a;
        double b;
    };
    struct LongString {
        std::int64_t a;
        std::string b;
    };
    EXPECT_FALSE(shapes_match(shape_of<IntString>(), shape_of<IntDouble>()));
    EXPECT_FALSE(shapes_match(shape_of<IntString>(), shape_of<LongString>()));
    EXPECT_FALSE(shapes_match(shape_of<IntString>(), shape_of<std::string>()));
    EXPECT_TRUE(shapes_match(shape_of<IntString>(), shape_of<std::pair<std::int32_t, std::vector<char>>>()));
}

TEST(ProcShape, AnythingMatchesTheUnchecked) {
    EXPECT_TRUE(shapes_match(shape_any, shape_of<int>()));
    EXPECT_TRUE(shapes_match(shape_of<Old>(), shape_any));
    EXPECT_TRUE(shapes_match(shape_of<Empty>(), shape_of<Old>()));
    EXPECT_NE(shape_of<int>(), shape_any);
}

struct Loop {
    int value = 0;
    std::vector<Loop> inner;
};
struct OtherLoop {
    int value = 0;
    std::vector<std::vector<OtherLoop>> inner;
};
enum class Level : std::uint16_t { low };

// Part of the wire format: if these change, programs of different versions answer each other with bad_signature.
TEST(ProcShape, IsPinned) {
    EXPECT_EQ(shape_of<Empty>(), shape_any);
    EXPECT_EQ(shape_of<int>(), 0xF21Eu);
    EXPECT_EQ(shape_of<std::string>(), 0xF6F7u);
    EXPECT_EQ(shape_of<Numbers>(), 0x279Eu);
    EXPECT_EQ(shape_of<New>(), 0x500Eu);
    EXPECT_EQ(shape_of<Loop>(), 0x249Eu);
    EXPECT_EQ(shape_of<Level>(), shape_of<std::uint16_t>());
    EXPECT_NE(shape_of<Loop>(), shape_of<OtherLoop>());
    using Rich = std::tuple<std::map<std::string, std::variant<int, double>>, std::unique_ptr<Loop>>;
    EXPECT_EQ(shape_of<Rich>(), 0x2F1Bu);
    using Long =
        std::tuple<int, char, bool, float, double, int, char, bool, float, double, int, char, bool, float, int>;
    EXPECT_EQ(shape_of<Long>(), 0xE842u);
}

}  // namespace
}  // namespace cinnabar::rpc::test
