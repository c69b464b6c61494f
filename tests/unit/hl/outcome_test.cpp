// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/outcome.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cinnabar::hl::detail {
namespace {

std::exception_ptr an_exception(const char* text) { return std::make_exception_ptr(std::runtime_error(text)); }

TEST(Outcome, AValueIsTaken) {
    Outcome<std::unique_ptr<int>> outcome;
    outcome.set(std::make_unique<int>(7));
    EXPECT_EQ(*outcome.take(), 7);
}

TEST(Outcome, AnExceptionIsRethrown) {
    Outcome<std::string> outcome;
    outcome.fail(an_exception("no"));
    EXPECT_THROW((void)outcome.take(), std::runtime_error);
}

TEST(Outcome, AnExceptionReplacesTheValue) {
    auto counted = std::make_shared<int>(1);
    Outcome<std::shared_ptr<int>> outcome;
    outcome.set(counted);
    EXPECT_EQ(counted.use_count(), 2);
    outcome.fail(an_exception("after the co_return"));
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_THROW((void)outcome.take(), std::runtime_error);
}

TEST(Outcome, WhatItHoldsIsFreedWithIt) {
    auto counted = std::make_shared<int>(1);
    {
        Outcome<std::shared_ptr<int>> outcome;
        outcome.set(counted);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(Outcome, AValueWhoseConstructorThrowsLeavesRoomForTheException) {
    struct Throws {
        explicit Throws(int) { throw std::runtime_error("no"); }
        std::string text;
    };
    Outcome<Throws> outcome;
    EXPECT_THROW(outcome.set(1), std::runtime_error);
    outcome.fail(an_exception("no"));
    EXPECT_THROW((void)outcome.take(), std::runtime_error);
}

TEST(OutcomeDeathTest, NothingCannotBeTaken) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Outcome<int> outcome;
    EXPECT_DEATH((void)outcome.take(), "bug:");
}

}  // namespace
}  // namespace cinnabar::hl::detail
