// SPDX-License-Identifier: BSD-3-Clause
// How long a proof takes to check does not tell how much of it is right: by instructions, which noise does not change.
#include "../counts/callgrind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar::files {
namespace {

// Of one check.
double instructions(const std::string& kind) {
    constexpr unsigned long few = 100;
    constexpr unsigned long many = 300;
    const auto of = [&](unsigned long times) {
        const unsigned long counted =
            counts::instructions(CINNABAR_PROOF_LOOP " " + kind + " " + std::to_string(times));
        EXPECT_GT(counted, 0u) << kind << " failed";
        return static_cast<double>(counted);
    };
    return (of(many) - of(few)) / (many - few);
}

TEST(ProofTime, IsTheSameForAnyProof) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    const double right = instructions("right");
    EXPECT_GT(right, 1'000.0) << "a sum of SHA-256 was made";
    EXPECT_NEAR(instructions("first"), right, 2.0);
    EXPECT_NEAR(instructions("final"), right, 2.0);
}

}  // namespace
}  // namespace cinnabar::files
