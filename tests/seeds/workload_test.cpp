// SPDX-License-Identifier: BSD-3-Clause
// Calls, nested calls, cancels, deadlines, pulls, pushes, kills, restarts, partitions and back-pressure on a simulated
// network, all from one seed. Each call ends once and in time, no byte is written after an end, replies match their
// calls, pools return to their initial counts, and credits add up.
#include "workload.hpp"

#include "support/log_watch.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

namespace cinnabar::seeds {
namespace {

Workload::Outcome run(std::uint64_t seed, sim::Profile profile) {
    support::LogWatch log;
    log.allow("stays in quarantine");
    Workload workload(seed, profile);
    const Climate& climate = workload.climate();
    if (climate.few_connections() && (climate.stops || climate.partitions)) log.allow("has not answered");
    if (climate.liar) {  // the log names the liar: its frames are refused and its sessions end
        for (const char* line : {"malformed", "is cut off", "was dropped"}) log.allow(line);
    }
    workload.run();
    return workload.outcome();
}

class WorkloadTest : public testing::TestWithParam<sim::Profile> {};

TEST_P(WorkloadTest, EveryCallEndsOnceAndNothingIsLeft) {
    Ledger::Tally all;
    test::for_each_seed([&](std::uint64_t seed) {
        const auto outcome = run(seed, GetParam());
        all.calls += outcome.tally.calls;
        all.ok += outcome.tally.ok;
        all.bytes_moved += outcome.tally.bytes_moved;
    });
    RecordProperty("calls", std::to_string(all.calls));
    RecordProperty("ok", std::to_string(all.ok));
    RecordProperty("bytes_moved", std::to_string(all.bytes_moved));
}

TEST_P(WorkloadTest, ASeedReplaysExactly) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto first = run(seed, GetParam());
        EXPECT_TRUE(first.same(run(seed, GetParam()))) << seed;
        EXPECT_FALSE(first.same(run(seed + 1'000'000, GetParam()))) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Over, WorkloadTest, testing::Values(sim::Profile::friendly, sim::Profile::rdma_strict),
                         [](const auto& each) {
                             return std::string(each.param == sim::Profile::friendly ? "friendly" : "strict");
                         });

}  // namespace
}  // namespace cinnabar::seeds
