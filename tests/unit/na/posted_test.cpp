// SPDX-License-Identifier: BSD-3-Clause
// Completing operations that have ended, a bounded number at a time.
#include <cinnabar/na/session/posted.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace cinnabar::na {
namespace {

TEST(CompleteSome, OpsThatACompletionAddsWaitForTheNextCall) {
    std::array<PostedOp, 4> ops;
    for (std::size_t i = 0; i < ops.size(); ++i) ops[i].moved = i;
    PostedOps ended;
    for (std::size_t i = 0; i < 3; ++i) ended.push_back(ops[i]);
    std::vector<std::uint64_t> seen;
    const auto complete = [&](PostedOp& posted) {
        seen.push_back(posted.moved);
        if (posted.moved == 0) ended.push_back(ops[3]);
    };
    EXPECT_EQ(complete_some(ended, 2, complete), 2u);
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1}));
    EXPECT_EQ(complete_some(ended, 10, complete), 2u);
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3}));
    EXPECT_TRUE(ended.empty());
    EXPECT_EQ(complete_some(ended, 10, complete), 0u);
}

}  // namespace
}  // namespace cinnabar::na
