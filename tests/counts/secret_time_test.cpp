// SPDX-License-Identifier: BSD-3-Clause
// The time to refuse a guessed key of a lease, or a guessed seal of a token, does not depend on how much of it is
// right. It is measured in instructions, which noise does not change.
#include "callgrind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar::counts {
namespace {

constexpr unsigned long guesses = 10'000;

// The instructions of that many guesses, including the start and the end of a process.
double instructions_of(const std::string& kind) {
    const unsigned long counted = instructions(CINNABAR_SECRET_LOOP " " + kind + " " + std::to_string(guesses));
    EXPECT_GT(counted, 150 * guesses) << kind << ": no seal was made, or a guess was accepted";
    return static_cast<double>(counted);
}

TEST(SecretTime, IsTheSameForAnyGuess) {
    ASSERT_TRUE(has_valgrind()) << get_valgrind;
    const double all = instructions_of("all");
    EXPECT_NEAR(instructions_of("first"), all, 0.5 * guesses);
    EXPECT_NEAR(instructions_of("final"), all, 0.5 * guesses);
}

}  // namespace
}  // namespace cinnabar::counts
