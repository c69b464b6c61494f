// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/result.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace cinnabar {
namespace {

Result<int> half(int number) {
    if (number % 2) return Error(Errc::invalid_argument, "odd", std::to_string(number), EINVAL);
    return number / 2;
}

Result<int> quarter(int number) {
    CINNABAR_TRY(const int once, half(number));
    CINNABAR_TRY(const int twice, half(once));
    return twice;
}

Result<std::string> in_words(int number) {
    CINNABAR_TRY(const int fourth, quarter(number));
    return "it is " + std::to_string(fourth);
}

TEST(Result, HoldsAValue) {
    Result<int> result = half(8);
    EXPECT_TRUE(result.ok());
    EXPECT_TRUE(static_cast<bool>(result));
    EXPECT_EQ(result.code(), Errc::ok);
    EXPECT_EQ(*result, 4);
    EXPECT_EQ(result.value(), 4);
    EXPECT_EQ(half(8).value_or(1), 4);
    *result = 5;
    EXPECT_EQ(half(10).value(), *result);
}

TEST(Result, HoldsAnError) {
    const Result<int> result = half(7);
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(static_cast<bool>(result));
    EXPECT_EQ(result.code(), Errc::invalid_argument);
    EXPECT_EQ(result.error().subject, "7");
    EXPECT_EQ(result.error().os_errno, EINVAL);
    EXPECT_EQ(half(7).value_or(1), 1);
    EXPECT_EQ(Result<int>(Errc::busy).code(), Errc::busy);
}

TEST(Result, ValueThrowsTheError) {
    try {
        (void)half(7).value();
        FAIL() << "value() of an error must throw";
    } catch (const BadResult& bad) {
        EXPECT_EQ(bad.error().code, Errc::invalid_argument);
        EXPECT_EQ(std::string(bad.what()), half(7).error().message());
    }
}

TEST(Result, TryPassesTheErrorOn) {
    EXPECT_EQ(quarter(12).value(), 3);
    EXPECT_EQ(quarter(6).error().subject, "3");
    EXPECT_EQ(quarter(5).error().subject, "5");
    EXPECT_EQ(in_words(4).value(), "it is 1") << "the error crosses between results of different types";
    EXPECT_EQ(in_words(2).error().subject, "1");
}

TEST(Result, MoveOnlyValuesMoveThrough) {
    const auto make = [](bool good) -> Result<std::unique_ptr<int>> {
        if (!good) return Errc::out_of_memory;
        return std::make_unique<int>(7);
    };
    const auto pass = [&](bool good) -> Result<std::unique_ptr<int>> {
        CINNABAR_TRY(auto owned, make(good));
        ++*owned;
        return owned;
    };
    auto result = pass(true);
    EXPECT_EQ(**result, 8);
    const std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 8);
    EXPECT_EQ(pass(false).code(), Errc::out_of_memory);
}

TEST(Result, VoidIsOkUntilAnErrorIsPutIn) {
    const Result<void> fine;
    EXPECT_TRUE(fine.ok());
    EXPECT_EQ(fine.code(), Errc::ok);
    EXPECT_NO_THROW(fine.value());
    EXPECT_TRUE(Result<void>(Errc::ok).ok());

    const Result<void> failed(Error(Errc::no_space, "full"));
    EXPECT_FALSE(failed.ok());
    EXPECT_EQ(failed.code(), Errc::no_space);
    EXPECT_EQ(failed.error().hint, "full");
    EXPECT_THROW(failed.value(), BadResult);
    EXPECT_EQ(Result<void>(Errc::io).error().code, Errc::io);
}

TEST(ResultDeathTest, TheWrongSideIsABug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH((void)*half(7), "bug:");
    EXPECT_DEATH((void)half(8).error(), "bug:");
}

TEST(ResultDeathTest, OkIsNoError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH((void)Result<int>(Errc::ok), "bug:");
    EXPECT_DEATH((void)Result<int>(Error(Errc::ok)), "bug:");
    EXPECT_DEATH((void)Result<void>(Error(Errc::ok)), "bug:");
}

TEST(Result, ConstResultsGiveTheirValue) {
    const Result<std::string> good = std::string("text");
    const Result<std::string> bad = Errc::busy;
    EXPECT_EQ(good.value(), "text");
    EXPECT_THROW((void)bad.value(), BadResult);
}

TEST(Result, MapTakesTheValueOrKeepsTheError) {
    const Result<int> four = 4;
    EXPECT_EQ(four.map([](int n) { return n * 2; }).value(), 8);
    EXPECT_EQ(four.map([](int n) { return std::to_string(n); }).value(), "4");
    int seen = 0;
    EXPECT_TRUE(four.map([&](int n) { seen = n; }).ok());
    EXPECT_EQ(seen, 4);
    const Result<int> none = Error{Errc::busy, "a hint", "a subject"};
    const auto kept = none.map([&](int) { return seen = 9; });
    EXPECT_EQ(kept.code(), Errc::busy);
    EXPECT_EQ(kept.error().subject, "a subject");
    EXPECT_EQ(seen, 4);
    Result<std::unique_ptr<int>> owned = std::make_unique<int>(5);
    EXPECT_EQ(std::move(owned).map([](std::unique_ptr<int> moved) { return *moved; }).value(), 5);
    EXPECT_EQ(Result<void>().map([] { return 3; }).value(), 3);
    EXPECT_EQ(Result<void>(Errc::io).map([] { return 3; }).code(), Errc::io);
}

TEST(Result, AndThenGoesOnOrKeepsTheError) {
    const auto half = [](int n) -> Result<int> {
        if (n % 2 != 0) return Errc::invalid_argument;
        return n / 2;
    };
    EXPECT_EQ(Result<int>(8).and_then(half).and_then(half).value(), 2);
    EXPECT_EQ(Result<int>(6).and_then(half).and_then(half).code(), Errc::invalid_argument);
    EXPECT_EQ(Result<int>(Errc::closed).and_then(half).code(), Errc::closed);
    EXPECT_TRUE(Result<int>(8).and_then([](int) { return Result<void>(); }).ok());
    EXPECT_EQ(Result<void>().and_then([&] { return half(4); }).value(), 2);
}

// Counts its objects; its constructors throw if told to.
struct Counted {
    explicit Counted(int n) : number(n) { ++alive; }
    Counted(const Counted& other) : number(other.number) { come(); }
    Counted(Counted&& other) : number(std::exchange(other.number, 0)) { come(); }  // NOLINT: it may throw
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&& other) {  // NOLINT: as above
        number = std::exchange(other.number, 0);
        return *this;
    }
    ~Counted() { --alive; }

    static void come() {
        if (throws) throw std::runtime_error("no");
        ++alive;
    }
    static inline int alive = 0;
    static inline bool throws = false;
    int number;
};

TEST(Result, ItsValueOrErrorIsDestroyedOnce) {
    {
        Result<Counted> first(Counted(1));
        Result<Counted> second = first;
        Result<Counted> third = std::move(first);
        EXPECT_EQ(Counted::alive, 3);
        EXPECT_EQ(second->number, 1);
        EXPECT_EQ(third->number, 1);
        second = Error(Errc::busy, {}, std::string(100, 'b'));
        EXPECT_EQ(Counted::alive, 2);
        const Result<Counted> fourth = second;
        EXPECT_EQ(fourth.error().subject, std::string(100, 'b'));
        EXPECT_EQ(second.error().subject, fourth.error().subject);
    }
    EXPECT_EQ(Counted::alive, 0);
}

TEST(Result, AValueOrAnErrorIsAssignedOverEither) {
    const Result<std::string> good = std::string(100, 'g');
    const Result<std::string> bad = Error(Errc::busy, {}, std::string(100, 'b'));
    for (const Result<std::string>* before : {&good, &bad}) {
        for (const Result<std::string>* after : {&good, &bad}) {
            Result<std::string> copied = *before;
            copied = *after;
            EXPECT_EQ(copied.code(), after->code());
            Result<std::string> moved = *before;
            moved = Result<std::string>(*after);
            EXPECT_EQ(moved.code(), after->code());
            if (after->ok()) {
                EXPECT_EQ(*copied, *good);
                EXPECT_EQ(*moved, *good);
            } else {
                EXPECT_EQ(copied.error().subject, bad.error().subject);
                EXPECT_EQ(moved.error().subject, bad.error().subject);
            }
        }
        Result<std::string> itself = *before;
        const Result<std::string>& same = itself;
        itself = same;
        EXPECT_EQ(itself.code(), before->code());
        EXPECT_EQ(itself.ok() ? *itself : itself.error().subject, before->ok() ? **before : before->error().subject);
    }
}

TEST(Result, AValueWhoseConstructorThrowsLeavesTheError) {
    {
        const Result<Counted> value(Counted(5));
        Result<Counted> copied = Error(Errc::busy, {}, "a subject");
        Result<Counted> moved = copied;
        Result<Counted> source = value;
        Counted::throws = true;
        EXPECT_THROW(copied = value, std::runtime_error);
        EXPECT_THROW(moved = std::move(source), std::runtime_error);
        EXPECT_THROW((void)Result<Counted>(value), std::runtime_error);
        Counted::throws = false;
        EXPECT_EQ(copied.error().subject, "a subject");
        EXPECT_EQ(moved.error().subject, "a subject");
        EXPECT_EQ(value->number, 5);
        copied = value;
        EXPECT_EQ(copied->number, 5);
        EXPECT_EQ(Counted::alive, 3);
    }
    EXPECT_EQ(Counted::alive, 0);
}

TEST(Result, IsCopiedAndAssignedAsItsValueIs) {
    struct Fixed {
        const int number = 1;
    };
    static_assert(std::is_copy_constructible_v<Result<int>> && std::is_copy_assignable_v<Result<int>>);
    static_assert(std::is_nothrow_move_constructible_v<Result<std::string>>);
    static_assert(std::is_nothrow_move_assignable_v<Result<std::string>>);
    static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
    static_assert(!std::is_copy_assignable_v<Result<std::unique_ptr<int>>>);
    static_assert(std::is_nothrow_move_assignable_v<Result<std::unique_ptr<int>>>);
    static_assert(std::is_copy_constructible_v<Result<Fixed>> && !std::is_copy_assignable_v<Result<Fixed>>);
    static_assert(!std::is_move_assignable_v<Result<Fixed>> && !std::is_nothrow_move_constructible_v<Result<Counted>>);
    EXPECT_EQ(Result<Fixed>(Fixed())->number, 1);
}

}  // namespace
}  // namespace cinnabar
