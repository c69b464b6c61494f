// SPDX-License-Identifier: BSD-3-Clause
// Round trips of every type that needs no macro; the bytes are those of docs/proc-encoding.md.
#include "proc_checks.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <limits>
#include <list>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <variant>

namespace cinnabar::rpc::test {
namespace {

using namespace std::chrono_literals;

enum class Color : std::uint8_t { red = 1, blue = 200 };
enum OldEnum { old_a, old_b = 70000 };
enum class Flag : bool { off, on };

struct Pair {
    int a = 0, b = 0;
    bool operator==(const Pair&) const = default;
};
struct WithPadding {
    char letter = 0;
    double number = 0;
    bool flag = false;
    bool operator==(const WithPadding&) const = default;
};
struct WithArrays {
    int grid[2][3] = {};
    char name[5] = {};
    Pair pairs[2];
    bool operator==(const WithArrays&) const = default;
};
struct Nested {
    WithPadding inner;
    std::string text;
    std::vector<Nested> children;
    std::optional<Pair> maybe;
    bool operator==(const Nested&) const = default;
};
struct Tree {
    int value = 0;
    std::unique_ptr<Tree> left, right;
};
bool same_tree(const Tree& a, const Tree& b) {
    const auto same_branch = [](const std::unique_ptr<Tree>& x, const std::unique_ptr<Tree>& y) {
        return (!x && !y) || (x && y && same_tree(*x, *y));
    };
    return a.value == b.value && same_branch(a.left, b.left) && same_branch(a.right, b.right);
}
struct Wide {  // as many fields as an aggregate may have
    std::uint8_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14,
                 o = 15, p = 16, q = 17, r = 18, s = 19, t = 20, u = 21, v = 22, w = 23, x = 24, y = 25, z = 26,
                 aa = 27, bb = 28, cc = 29, dd = 30, ee = 31;
    std::string last = "32";
    bool operator==(const Wide&) const = default;
};

TEST(ProcRoundTrip, Numbers) {
    check_round_trip(std::int8_t{-3});
    check_round_trip(std::numeric_limits<std::int64_t>::min());
    check_round_trip(std::numeric_limits<std::uint64_t>::max());
    check_round_trip(std::uint16_t{0xABCD});
    check_round_trip('x');
    check_round_trip(u'x');
    check_round_trip(true);
    check_round_trip(false);
    check_round_trip(1.5f);
    check_round_trip(-std::numeric_limits<double>::infinity());
    check_round_trip(std::numeric_limits<double>::quiet_NaN(),
                     [](double a, double b) { return std::isnan(a) && std::isnan(b); });
}

TEST(ProcRoundTrip, EnumsAndErrorCodes) {
    check_round_trip(Color::blue);
    check_round_trip(old_b);
    check_round_trip(Flag::on);
    check_round_trip(Errc::peer_lost);
    check_round_trip(std::byte{0x5A});
    EXPECT_EQ(encoded(Errc::peer_lost), bytes_of({7}));
    Color color{};
    ASSERT_EQ(decode(bytes_of({77}), color), Errc::ok);  // the receiver decides about a value without a name
    EXPECT_EQ(static_cast<int>(color), 77);
}

TEST(ProcRoundTrip, TheBytesOfANumberAreLittleEndian) {
    EXPECT_EQ(encoded(std::uint32_t{0x01020304}), bytes_of({4, 3, 2, 1}));
    EXPECT_EQ(encoded(Pair{1, -1}), bytes_of({1, 0, 0, 0, 255, 255, 255, 255}));
}

TEST(ProcRoundTrip, FixedArrays) {
    check_round_trip(std::array<int, 3>{1, 2, 3});
    check_round_trip(std::array<std::string, 2>{"one", "two"});
    check_round_trip(std::array<std::array<bool, 2>, 2>{{{true, false}, {false, true}}});
    check_round_trip(std::array<int, 0>{});
    check_round_trip(WithArrays{{{1, 2, 3}, {4, 5, 6}}, {'a', 'b'}, {{7, 8}, {9, 10}}});
}

TEST(ProcRoundTrip, Records) {
    check_round_trip(Pair{3, 4});
    check_round_trip(WithPadding{'x', 2.5, true});
    EXPECT_EQ(proc_size(WithPadding{}), 10u);  // no padding on the wire
    check_round_trip(Empty{});
    EXPECT_EQ(proc_size(Empty{}), 0u);
    check_round_trip(std::pair<int, std::string>{1, "x"});
    check_round_trip(std::tuple<int, std::string, bool>{1, "x", true});
    check_round_trip(std::tuple<>{});
    check_round_trip(Wide{});
    Nested nested{{'a', 1, true}, "outer", {}, Pair{1, 2}};
    nested.children.push_back({{'b', 2, false}, "first", {}, {}});
    nested.children.push_back({{'c', 3, true}, "second", {nested}, Pair{3, 4}});
    check_round_trip(nested);
}

TEST(ProcRoundTrip, StringsAndViews) {
    check_round_trip(std::string());
    check_round_trip(std::string("with\0zero", 9));
    check_round_trip(std::u16string(u"wide"));
    check_round_trip(std::string_view("a view"));
    EXPECT_EQ(encoded(std::string("ab")), bytes_of({2, 0, 0, 0, 'a', 'b'}));

    const Payload payload(encoded(std::string_view("in place")));
    std::string_view view;
    ASSERT_EQ(decode(payload.bytes(), view), Errc::ok);
    EXPECT_EQ(static_cast<const void*>(view.data()), payload.bytes().data() + 4);
}

TEST(ProcRoundTrip, Spans) {
    const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(a, b); };
    const std::array<std::uint64_t, 2> wide{1, 2};
    const std::array<Pair, 2> pairs{Pair{1, 2}, Pair{3, 4}};
    const std::array<std::byte, 3> bytes{};
    check_round_trip(std::span<const std::uint64_t>(wide), same);
    check_round_trip(std::span<const Pair>(pairs), same);
    check_round_trip(std::span<const std::byte>(bytes), same);
    check_round_trip(std::span<const double>(), same);
    // After one byte, the count is at 1 and the elements are at 8.
    using Odd = std::tuple<char, std::span<const std::uint64_t>>;
    const Odd odd{'x', wide};
    EXPECT_EQ(proc_size(odd), 8u + 16u);
    const Payload payload(encoded(odd));
    Odd back;
    ASSERT_EQ(decode(payload.bytes(), back), Errc::ok);
    EXPECT_EQ(static_cast<const void*>(std::get<1>(back).data()), payload.bytes().data() + 8);
    EXPECT_TRUE(same(std::get<1>(back), wide));
}

TEST(ProcRoundTrip, ASpanAndItsContainersHaveTheSameBytes) {
    const std::vector<double> values{1, 2, 3};
    using Front = std::pair<char, std::vector<double>>;
    const auto bytes = encoded(Front{'x', values});
    EXPECT_EQ(encoded(std::tuple<char, std::list<double>>{'x', {1, 2, 3}}), bytes);
    EXPECT_EQ(encoded(std::tuple<char, std::deque<double>>{'x', {1, 2, 3}}), bytes);
    EXPECT_EQ(encoded(std::tuple<char, std::set<double>>{'x', {1, 2, 3}}), bytes);
    EXPECT_EQ(encoded(std::tuple<char, std::span<const double>>{'x', values}), bytes);
    // Also if the elements are encoded in another way: as whole memory, or field by field.
    EXPECT_EQ(encoded(std::tuple<char, std::vector<Pair>>{'x', {{1, 2}, {3, 4}}}),
              encoded(std::tuple<char, std::map<int, int>>{'x', {{1, 2}, {3, 4}}}));
}

TEST(ProcRoundTrip, Sequences) {
    check_round_trip(std::vector<int>{});
    check_round_trip(std::vector<int>{1, 2, 3});
    check_round_trip(std::vector<bool>{true, false, true});
    check_round_trip(std::vector<std::string>{"a", "", "ccc"});
    check_round_trip(std::vector<WithPadding>{{'a', 1, true}, {'b', 2, false}});
    check_round_trip(std::vector<std::vector<Pair>>{{}, {{1, 2}}, {{3, 4}, {5, 6}}});
    check_round_trip(std::deque<std::uint16_t>{1, 2, 3});
    check_round_trip(std::list<std::string>{"x", "y"});
    check_round_trip(std::vector<Color>{Color::red});
    check_round_trip(std::pair<char, std::vector<std::uint64_t>>{'x', {1, 2}});
}

TEST(ProcRoundTrip, SetsAndMaps) {
    check_round_trip(std::set<std::string>{"a", "b"});
    check_round_trip(std::multiset<int>{1, 1, 2});
    check_round_trip(std::unordered_set<int>{5});
    check_round_trip(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
    check_round_trip(std::multimap<int, char>{{1, 'a'}, {1, 'b'}});
    check_round_trip(std::unordered_map<std::string, Pair>{{"k", {1, 2}}});
}

TEST(ProcRoundTrip, BigUnorderedContainersInWhateverOrder) {
    std::unordered_map<std::uint32_t, std::string> numbers;
    for (std::uint32_t i = 0; i < 1000; ++i) numbers[i * 77] = std::to_string(i);
    std::unordered_map<std::uint32_t, std::string> back;
    ASSERT_EQ(decode(encoded(numbers), back), Errc::ok);
    EXPECT_EQ(back, numbers);
}

TEST(ProcRoundTrip, OptionalVariantPointer) {
    check_round_trip(std::optional<int>{});
    check_round_trip(std::optional<std::string>{"there"});
    check_round_trip(std::optional<std::optional<int>>{std::optional<int>{}});
    using Choice = std::variant<std::monostate, int, std::string, Pair>;
    check_round_trip(Choice{});
    check_round_trip(Choice{7});
    check_round_trip(Choice{"text"});
    check_round_trip(Choice{Pair{1, 2}});
    EXPECT_EQ(encoded(Choice{}), bytes_of({0}));
    Tree tree{1, std::make_unique<Tree>(Tree{2, {}, std::make_unique<Tree>(Tree{3, {}, {}})}), {}};
    check_round_trip(tree, same_tree);
    EXPECT_EQ(encoded(std::make_unique<std::uint8_t>(std::uint8_t{9})), encoded(std::optional<std::uint8_t>{9}));
}

TEST(ProcRoundTrip, DurationsAndBits) {
    check_round_trip(1500ms);
    check_round_trip(std::chrono::system_clock::time_point(123456789s));
    check_round_trip(std::chrono::sys_days(std::chrono::days(20000)));
    EXPECT_NE(shape_of<std::chrono::sys_seconds>(), shape_of<std::chrono::seconds>()) << "when is not how long";
    check_round_trip(std::chrono::duration<double>(0.25));
    check_round_trip(std::vector<std::chrono::nanoseconds>{1ns, 2ns});
    check_round_trip(std::bitset<1>("1"));
    check_round_trip(std::bitset<9>("100000001"));
    check_round_trip(std::bitset<64>(0xF00DULL));
    EXPECT_EQ(encoded(std::bitset<9>("100000001")), bytes_of({1, 1}));
}

TEST(ProcRoundTrip, TheExampleOfTheDocument) {
    struct Example {
        std::uint16_t id;
        std::string name;
        std::vector<std::uint32_t> values;
    };
    EXPECT_EQ(encoded(Example{7, "ab", {1, 2}}),
              bytes_of({7, 0, 2, 0, 0, 0, 'a', 'b', 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}));
}

TEST(ProcRoundTrip, WhatCannotBeSentIsRefused) {
    std::variant<int, std::deque<int>> broken;
    EXPECT_THROW(broken.emplace<std::deque<int>>(std::numeric_limits<std::size_t>::max()), std::length_error);
    ASSERT_TRUE(broken.valueless_by_exception());
    std::byte room[64];
    std::size_t used = 1;
    EXPECT_EQ(encode(room, broken, used), Errc::invalid_argument);
    EXPECT_EQ(used, 0u);
    EXPECT_EQ(proc_size(broken), Sizer::unencodable);

    Tree deep;
    Tree* at = &deep;
    for (std::uint32_t i = 0; i < proc_depth_max; ++i) at = (at->left = std::make_unique<Tree>()).get();
    std::vector<std::byte> buffer(1024);
    EXPECT_EQ(encode(buffer, deep, used), Errc::ok);
    at->left = std::make_unique<Tree>();
    EXPECT_EQ(encode(buffer, deep, used), Errc::too_large);
    EXPECT_EQ(proc_size(deep), Sizer::unencodable);
}

TEST(ProcRoundTrip, Paths) {
    check_round_trip(std::filesystem::path());
    check_round_trip(std::filesystem::path("/srv/files/a b"));
    check_round_trip(std::vector<std::filesystem::path>{"a", "../b/", "c.txt"});
    EXPECT_EQ(shape_of<std::filesystem::path>(), shape_of<std::string>()) << "either end may use the other";
}

}  // namespace
}  // namespace cinnabar::rpc::test
