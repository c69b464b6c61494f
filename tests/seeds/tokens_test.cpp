// SPDX-License-Identifier: BSD-3-Clause
// Tokens and plans in the randomized workload: nodes on the simulated network read, write and count in each other's
// memory while it is renewed and withdrawn, processes are killed and connections break, all from one seed.
#include "support/log_watch.hpp"
#include "support/seeds.hpp"
#include "token_run.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace cinnabar::seeds {
namespace {

// Half as many seeds, so that the workload as a whole takes at most a third longer.
constexpr std::uint64_t token_cost = 2;

class TokenSeeds : public testing::TestWithParam<sim::Profile> {};

TEST_P(TokenSeeds, AFreshAnswerIsRightAndEverythingEnds) {
    TokenRun::Outcome all;
    test::for_each_seed(
        [&](std::uint64_t seed) {
            support::LogWatch log;
            log.allow("");  // of lost connections and killed processes
            TokenRun one(seed, GetParam());
            one.go();
            EXPECT_EQ(one.findings(), "") << one.describe();
            const auto outcome = one.outcome();
            all.operations += outcome.operations;
            all.succeeded += outcome.succeeded;
            all.stale += outcome.stale;
        },
        token_cost);
    EXPECT_GT(all.succeeded, 0u);
    RecordProperty("operations", std::to_string(all.operations));
    RecordProperty("succeeded", std::to_string(all.succeeded));
    RecordProperty("stale", std::to_string(all.stale));
}

TEST_P(TokenSeeds, ASeedReplaysExactly) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        support::LogWatch log;
        log.allow("");
        const auto outcome_of = [&](std::uint64_t number) {
            TokenRun one(number, GetParam());
            one.go();
            return one.outcome();
        };
        const auto first = outcome_of(seed);
        EXPECT_TRUE(first.same(outcome_of(seed))) << seed;
        EXPECT_FALSE(first.same(outcome_of(seed + 1'000'000))) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Over, TokenSeeds, testing::Values(sim::Profile::friendly, sim::Profile::rdma_strict),
                         [](const auto& each) {
                             return std::string(each.param == sim::Profile::friendly ? "friendly" : "strict");
                         });

// Each break of the product is found, and called what it is.
struct Fault {
    Broken broken;
    const char* name;
    const char* found_as;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class BrokenTokens : public testing::TestWithParam<Fault> {};

TEST_P(BrokenTokens, AreFound) {
    constexpr std::uint64_t seeds_max = 40;
    support::LogWatch log;
    log.allow("");
    std::string found;
    for (std::uint64_t seed = 0; seed < seeds_max && found.find(GetParam().found_as) == std::string::npos; ++seed) {
        TokenRun one(seed, sim::Profile::friendly, GetParam().broken);
        one.go();
        found += one.findings();
    }
    EXPECT_NE(found.find(GetParam().found_as), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(
    By, BrokenTokens,
    testing::Values(Fault{Broken::old_tokens_stay, "tokens_that_stay_valid", "an old token was accepted"},
                    Fault{Broken::counts_twice, "additions_counted_twice", "an addition was counted twice"},
                    Fault{Broken::other_blocks, "plans_that_move_other_blocks", "moved another block"},
                    Fault{Broken::late_byte, "bytes_that_come_late", "written to after its end"},
                    Fault{Broken::no_end, "operations_that_never_end", "has not ended"},
                    Fault{Broken::tells_twice, "owners_told_twice", "its owner was told twice"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace cinnabar::seeds
