// SPDX-License-Identifier: BSD-3-Clause
// Arguments written inside a co_await, in many forms. g++ 12 destroys some of these temporaries twice. Those forms must
// not compile (checked here by their types, and in tests/compile_fail/hl by the message), and all forms that compile
// must work. Built with -O0, -O1 and -O2, because the compiler's bug depends on them.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

struct Item {
    std::string name;
    int count = 0;
};
struct Order {
    Item item;
    std::vector<std::string> notes;
};
struct Pair {
    int a = 0;
    int b = 0;
};

constexpr Rpc<std::string(Item)> put{"put"};
constexpr Rpc<std::string(Order)> buy{"buy"};
constexpr Rpc<std::string(std::string)> echo{"echo"};
constexpr Rpc<std::string(std::string, Item)> put_at{"put_at"};
constexpr Rpc<std::size_t(std::vector<std::string>)> count{"count"};
constexpr Rpc<std::string(std::optional<Item>)> maybe{"maybe"};
constexpr Rpc<int(Pair)> sum{"sum"};
constexpr Rpc<std::uint64_t(std::string, std::uint64_t)> add{"add"};
constexpr OneWay<Item> note{"note"};

// Too long for the small-string optimisation, so that each string has memory to free.
std::string text() { return std::string(40, 'x'); }
std::string joined(const Item& item) { return item.name + std::to_string(item.count); }

class AwaitArguments : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(server_.serve(put, joined).ok());
        const auto bought = [](const Order& order) { return joined(order.item) + std::to_string(order.notes.size()); };
        ASSERT_TRUE(server_.serve(buy, bought).ok());
        ASSERT_TRUE(server_.serve(echo, [](std::string said) { return said; }).ok());
        ASSERT_TRUE(server_.serve(put_at, [](const std::string& at, const Item& i) { return at + joined(i); }).ok());
        ASSERT_TRUE(server_.serve(count, [](const std::vector<std::string>& all) { return all.size(); }).ok());
        const auto perhaps = [](const std::optional<Item>& item) { return item ? joined(*item) : "none"; };
        ASSERT_TRUE(server_.serve(maybe, perhaps).ok());
        ASSERT_TRUE(server_.serve(sum, [](Pair p) { return p.a + p.b; }).ok());
        const auto length_and = [](const std::string& s, std::uint64_t n) { return s.size() + n; };
        ASSERT_TRUE(server_.serve(add, length_and).ok());
        ASSERT_TRUE(server_.serve(note, [](const Item&) {}).ok());
    }
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Node client_ = Node::open("tcp://").value();
    Addr to_ = server_.self_addr();
};

// Named arguments, literals, and braces around types that own nothing work inside the co_await with every compiler.
TEST_F(AwaitArguments, that_may_be_awaited_at_once_are_right) {
    const auto calls = [this]() -> Task<int> {
        const Item item{text(), 3};
        Item changing{text(), 4};
        const std::vector<std::string> many(5, text());
        const std::optional<Item> some = item;
        EXPECT_EQ((co_await client_.call(put, to_, item)).value(), text() + "3");
        EXPECT_EQ((co_await client_.call(put, to_, changing, 20s)).value(), text() + "4");
        EXPECT_EQ((co_await client_.call(put, to_, item, {.deadline = 20s})).value(), text() + "3");
        EXPECT_EQ((co_await client_.call(echo, to_, "a literal that is longer than sixteen")).value().size(), 37u);
        EXPECT_EQ((co_await client_.call(put_at, to_, "here", item)).value(), "here" + text() + "3");
        EXPECT_EQ((co_await client_.call(put_at, to_, "here", changing, 20s)).value(), "here" + text() + "4");
        EXPECT_EQ((co_await client_.call(count, to_, many)).value(), 5u);
        EXPECT_EQ((co_await client_.call(maybe, to_, some)).value(), text() + "3");
        EXPECT_EQ((co_await client_.call(sum, to_, {2, 3})).value(), 5);
        EXPECT_EQ((co_await client_.call(sum, to_, Pair{2, 3}, 20s)).value(), 5);
        EXPECT_EQ((co_await client_.call(add, to_, "four", 5)).value(), 9u);
        EXPECT_TRUE((co_await client_.call(note, to_, item)).ok());
        co_return 0;
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sync_wait(calls()).ok());
}

// Temporaries of all kinds work if the call gets a name before it is awaited, and in code that is not a coroutine.
TEST_F(AwaitArguments, that_are_temporaries_are_right_in_a_named_call) {
    const auto calls = [this]() -> Task<int> {
        auto a = client_.call(put, to_, Item{text(), 3});
        EXPECT_EQ((co_await a).value(), text() + "3");
        auto b = client_.call(put, to_, {text(), 4}, 20s);
        EXPECT_EQ((co_await b).value(), text() + "4");
        auto c = client_.call(buy, to_, {{text(), 5}, {"some", text()}});
        EXPECT_EQ((co_await c).value(), text() + "52");
        auto d = client_.call(echo, to_, a.await_ready() ? text() : text() + "y");
        EXPECT_EQ((co_await d).value().substr(0, 40), text());
        auto e = client_.call(put_at, to_, text(), {text(), 6}, {.deadline = 20s});
        EXPECT_EQ((co_await e).value(), text() + text() + "6");
        auto f = client_.call(count, to_, {"a", text(), "c"});
        EXPECT_EQ((co_await f).value(), 3u);
        Pending<std::string> g = client_.call(maybe, to_, Item{text(), 7});
        EXPECT_EQ((co_await std::move(g)).value(), text() + "7");
        co_return 0;
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sync_wait(calls()).ok());

    EXPECT_EQ(client_.call(put, to_, Item{text(), 3}).wait().value(), text() + "3");
    EXPECT_EQ(sync_wait(client_.call(put, to_, {text(), 3})).value(), text() + "3");
    EXPECT_EQ(client_.call(buy, to_, {{text(), 5}, {"some", text()}}).future().get().value(), text() + "52");
    std::vector<Pending<std::string>> many;
    for (int i = 0; i < 3; ++i) many.push_back(client_.call(put, to_, {text(), i}));
    EXPECT_EQ(sync_wait(when_all(std::move(many))).value().back().value(), text() + "2");
}

template <typename Made>
constexpr bool must_be_named = !std::is_same_v<Made, Pending<std::string>>;

TEST_F(AwaitArguments, that_would_break_are_known_by_their_type) {
    [[maybe_unused]] const Node& node = client_;
    [[maybe_unused]] const Addr& to = to_;
    [[maybe_unused]] Item item;
    constexpr bool breaks = hl::detail::await_breaks_temporaries;
    static_assert(must_be_named<decltype(node.call(put, to, Item{"a", 3}))> == breaks);
    static_assert(must_be_named<decltype(node.call(put, to, {"a", 3}))> == breaks);
    static_assert(must_be_named<decltype(node.call(put, to, {}))> == breaks);
    static_assert(must_be_named<decltype(node.call(put, to, std::move(item), 20s))> == breaks);
    static_assert(must_be_named<decltype(node.call(buy, to, {{"a", 3}, {"b"}}))> == breaks);
    static_assert(must_be_named<decltype(node.call(echo, to, std::string("a")))> == breaks);
    static_assert(must_be_named<decltype(node.call(put_at, to, "a", {"b", 1}))> == breaks);
    static_assert(must_be_named<decltype(node.call(put_at, to, "a", Item{}, {.provider = 1}))> == breaks);
    static_assert(must_be_named<decltype(node.call(maybe, to, Item{"a", 3}))> == breaks);
    static_assert(!must_be_named<decltype(node.call(put, to, item))>);
    static_assert(!must_be_named<decltype(node.call(put, to, std::as_const(item), 20s))>);
    static_assert(!must_be_named<decltype(node.call(echo, to, "text", 20s))>);
    static_assert(!must_be_named<decltype(node.call(put_at, to, "a", item))>);
    static_assert(!must_be_named<decltype(node.call(maybe, to, item))>);
}

}  // namespace
}  // namespace cinnabar
