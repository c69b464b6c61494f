// SPDX-License-Identifier: BSD-3-Clause
// Calls, nested calls, cancels, deadlines, pulls, pushes, kills, restarts, partitions and back-pressure on a simulated
// network, all from one seed. Each call ends once and in time, no byte is written after an end, replies match their
// calls, pools return to their initial counts, and credits add up.
#include "workload.hpp"

#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// A few seeds over sockets, in real time: their random choices are the same, but not how they meet.
class RealWorkloadTest : public testing::TestWithParam<support::NetworkKind> {
  protected:
    void walk(bool liar) {
        constexpr std::uint64_t cost = 100;
        constexpr TimeUs longest_us = 20'000'000;
        const TimeUs end = steady_clock().now_us() + longest_us;
        test::for_each_seed(
            [&](std::uint64_t seed) {
                if (steady_clock().now_us() >= end) return;
                support::LogWatch log;
                if (liar) log.allow("");  // the log names the liar
                Workload workload(seed, GetParam(), liar);
                workload.run();
                ok_ += workload.outcome().tally.ok;
            },
            cost);
        EXPECT_NE(ok_, 0u);
    }

  private:
    std::uint64_t ok_ = 0;
};

TEST_P(RealWorkloadTest, EveryCallEndsOnceAndNothingIsLeft) { walk(false); }
TEST_P(RealWorkloadTest, ALiarHarmsNobody) { walk(true); }

std::vector<support::NetworkKind> sockets() {
    std::vector<support::NetworkKind> kinds = support::networks_for_calls();
    std::erase_if(kinds, [](support::NetworkKind kind) {
        return kind != support::NetworkKind::tcp && kind != support::NetworkKind::tcps;
    });
    return kinds;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealWorkloadTest);
INSTANTIATE_TEST_SUITE_P(Over, RealWorkloadTest, testing::ValuesIn(sockets()),
                         [](const auto& each) { return std::string(support::to_string(each.param)); });

INSTANTIATE_TEST_SUITE_P(Over, WorkloadTest, testing::Values(sim::Profile::friendly, sim::Profile::rdma_strict),
                         [](const auto& each) {
                             return std::string(each.param == sim::Profile::friendly ? "friendly" : "strict");
                         });

}  // namespace
}  // namespace cinnabar::seeds
