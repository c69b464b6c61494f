// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/parse.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::doctor {
namespace {

using Processors = std::vector<unsigned>;

TEST(DoctorParse, ListsOfProcessors) {
    EXPECT_EQ(processors_of("0-2,7\n"), (Processors{0, 1, 2, 7}));
    EXPECT_EQ(processors_of("5"), (Processors{5}));
    EXPECT_EQ(processors_of(""), Processors{});
    EXPECT_EQ(processors_of("x,2-,-3,4"), (Processors{4}));
    EXPECT_EQ(processors_of("0-99999999999999"), Processors{});  // a malformed list takes no memory
}

TEST(DoctorParse, Choices) {
    EXPECT_EQ(chosen_of("always [madvise] never"), "madvise");
    EXPECT_EQ(chosen_of("always"), "");
    EXPECT_EQ(chosen_of("[always"), "");
}

TEST(DoctorParse, Fields) {
    EXPECT_EQ(field_of("A:\t1\nAB:\t2 3\n", "AB"), "2 3");
    EXPECT_EQ(field_of("A:\t1\n", "B"), std::nullopt);
    EXPECT_EQ(field_of("", "B"), std::nullopt);
}

TEST(DoctorParse, Numbers) {
    EXPECT_EQ(number_of("42"), 42u);
    EXPECT_EQ(number_of("42x"), std::nullopt);
    EXPECT_EQ(number_of("-1"), std::nullopt);
    EXPECT_EQ(number_of(""), std::nullopt);
    EXPECT_EQ(trimmed(" a b\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
    EXPECT_EQ(words_of(" a\tb  c\n"), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace cinnabar::tools::doctor
