// SPDX-License-Identifier: BSD-3-Clause
// From counts of whole runs to counts of a call.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace cinnabar::counts {

// The command line of a loop that makes this many calls.
using LoopOf = std::function<std::string(unsigned long calls)>;
// One of the counts of callgrind.hpp.
using CountOf = std::function<unsigned long(const std::string& command)>;

// The count of each call in steady state: the difference between a run with few calls and one with three times as many,
// per additional call. 0, and the test has failed, if a run failed.
[[nodiscard]] inline unsigned long per_call(const LoopOf& loop, const CountOf& count, unsigned long calls_few = 500) {
    const unsigned long calls_many = 3 * calls_few;
    const unsigned long few = count(loop(calls_few));
    const unsigned long many = count(loop(calls_many));
    EXPECT_GT(few, 0u) << loop(calls_few) << " failed";
    EXPECT_GT(many, few);
    return many < few ? 0 : (many - few) / (calls_many - calls_few);
}

}  // namespace cinnabar::counts
