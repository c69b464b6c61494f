// SPDX-License-Identifier: BSD-3-Clause
#include "perf/outcomes.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::perf {
namespace {

TEST(PerfOutcomes, FailuresAreToldByTheirCodes) {
    Outcomes outcomes;
    outcomes.done = 10;
    EXPECT_TRUE(outcomes.all_well());
    EXPECT_EQ(outcomes.exit(), ExitCode::ok);
    EXPECT_EQ(outcomes.text(), "");
    EXPECT_EQ(outcomes.failed_json(), "{}");
    outcomes.fail(Errc::peer_lost);
    outcomes.fail(Errc::timed_out);
    outcomes.fail(Errc::timed_out);
    outcomes.unsent = 4;
    EXPECT_EQ(outcomes.failed(), 3u);
    EXPECT_EQ(outcomes.exit(), ExitCode::peer_lost);
    EXPECT_EQ(outcomes.text(), "2 timed out, 1 peer lost, 4 never sent");
    EXPECT_EQ(outcomes.failed_json(), R"({"timed_out": 2, "peer_lost": 1})");
}

TEST(PerfOutcomes, WrongBytesOutweighAllElse) {
    Outcomes outcomes;
    for (int i = 0; i < 5; ++i) outcomes.fail(Errc::timed_out);
    Outcomes other;
    other.wrong = 1;
    outcomes.add(other);
    EXPECT_FALSE(outcomes.all_well());
    EXPECT_EQ(outcomes.exit(), ExitCode::damaged);
    EXPECT_EQ(outcomes.text(), "5 timed out, 1 with wrong bytes");
}

// Load that was not offered is not a failure of the server.
TEST(PerfOutcomes, WhatWasNeverSentIsNoFailure) {
    Outcomes outcomes;
    outcomes.done = 1;
    outcomes.unsent = 7;
    EXPECT_EQ(outcomes.exit(), ExitCode::ok);
}

TEST(PerfOutcomes, NothingMeasuredIsNoSuccess) {
    const Outcomes outcomes;
    EXPECT_EQ(outcomes.exit(), ExitCode::overloaded);
    EXPECT_EQ(outcomes.text(), "nothing was measured in that time");
}

TEST(PerfOutcomes, ACodeOfANewerPeerIsCounted) {
    Outcomes outcomes;
    outcomes.fail(static_cast<Errc>(200));
    EXPECT_EQ(outcomes.failed(), 1u);
    EXPECT_EQ(outcomes.exit(), ExitCode::protocol);
}

}  // namespace
}  // namespace cinnabar::tools::perf
