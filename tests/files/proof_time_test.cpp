// SPDX-License-Identifier: BSD-3-Clause
// The time to verify a proof does not depend on how much of the proof is right. It is measured in instructions, which
// noise does not change.
#include "../counts/callgrind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar::files {
namespace {

constexpr unsigned long times = 300;

// The instructions of `times` verifications, including the start and the end of a process.
double instructions(const std::string& kind) {
    const unsigned long counted = counts::instructions(CINNABAR_PROOF_LOOP " " + kind + " " + std::to_string(times));
    EXPECT_GT(counted, 1'000 * times) << kind << ": no sum of SHA-256 was made";
    return static_cast<double>(counted);
}

TEST(ProofTime, IsTheSameForAnyProof) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    const double right = instructions("right");
    EXPECT_NEAR(instructions("first"), right, 2.0 * times);
    EXPECT_NEAR(instructions("final"), right, 2.0 * times);
}

}  // namespace
}  // namespace cinnabar::files
