// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/print.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::doctor {
namespace {

Findings some() {
    Findings found;
    found.good("a", "fine");
    found.warning("b", ExitCode::permission, "slow", "do this");
    found.problem("c", ExitCode::no_space, "\"full\"", "do that");
    return found;
}

TEST(DoctorPrint, TheGravestComesFirst) {
    EXPECT_EQ(text_of(some(), false),
              "problem   c                    \"full\"\n"
              "                               do: do that\n"
              "warning   b                    slow\n"
              "                               do: do this\n"
              "1 problem, 1 warning, 0 notes; 1 as they should be");
    EXPECT_NE(text_of(some(), true).find("good      a                    fine\n"), std::string::npos);
}

TEST(DoctorPrint, JsonHasAll) {
    EXPECT_EQ(json_of(some(), "1.2", ExitCode::no_space),
              R"({"version": "1.2", "findings": [)"
              R"({"id": "a", "severity": "good", "what": "fine", "remedy": "", "exit": 0}, )"
              R"({"id": "b", "severity": "warning", "what": "slow", "remedy": "do this", "exit": 4}, )"
              R"({"id": "c", "severity": "problem", "what": "\"full\"", "remedy": "do that", "exit": 5}], "exit": 5})");
}

}  // namespace
}  // namespace cinnabar::tools::doctor
