// SPDX-License-Identifier: BSD-3-Clause
#include "credit_cost.hpp"

#include "callgrind.hpp"

#include <gtest/gtest.h>

namespace cinnabar::counts {
namespace {

constexpr unsigned long instructions_max = 43;  // the figure `credit.cost` wants 40; a little room for other compilers

class CreditCost : public testing::TestWithParam<const char*> {};

TEST_P(CreditCost, IsSmall) {
    ASSERT_TRUE(has_valgrind()) << get_valgrind;
    const unsigned long each = credit_cost(GetParam());
    RecordProperty("instructions", std::to_string(each));
    EXPECT_GT(each, 0u) << "no line of the accounts was run";
    EXPECT_LT(each, instructions_max);
}

INSTANTIATE_TEST_SUITE_P(Over, CreditCost, testing::Values("self", "tcp"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace cinnabar::counts
