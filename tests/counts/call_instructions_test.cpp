// SPDX-License-Identifier: BSD-3-Clause
// Instructions of a small call in steady state, both sides together. The bounds are a tenth above what this build took
// when they were written; a change that goes past them is either a mistake or worth a new bound and its reason in the
// commit.
#include "callgrind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar {
namespace {

constexpr unsigned long calls_few = 500;
constexpr unsigned long calls_many = 1500;

unsigned long instructions(const std::string& scheme, unsigned long calls, unsigned in_flight) {
    return counts::instructions(CINNABAR_CALL_LOOP " " + scheme + " " + std::to_string(calls) + " " +
                                std::to_string(in_flight));
}

struct Bound {
    const char* scheme;
    unsigned in_flight;
    unsigned long instructions_max;  // a call
};

class CallInstructions : public testing::TestWithParam<Bound> {};

TEST_P(CallInstructions, StayWithinTheirBound) {
    if (!counts::has_valgrind()) GTEST_SKIP() << "valgrind is not installed";
    const Bound& bound = GetParam();
    const unsigned long few = instructions(bound.scheme, calls_few, bound.in_flight);
    const unsigned long many = instructions(bound.scheme, calls_many, bound.in_flight);
    ASSERT_GT(few, 0u);
    ASSERT_GT(many, few);
    const unsigned long each = (many - few) / (calls_many - calls_few);
    RecordProperty("instructions", std::to_string(each));
    EXPECT_LE(each, bound.instructions_max) << bound.scheme << ", " << bound.in_flight << " in flight";
}

INSTANTIATE_TEST_SUITE_P(Over, CallInstructions,
                         testing::Values(Bound{"self", 1, 6300}, Bound{"self", 64, 4700}, Bound{"tcp", 64, 4550}),
                         [](const auto& i) { return i.param.scheme + std::to_string(i.param.in_flight); });

}  // namespace
}  // namespace cinnabar
