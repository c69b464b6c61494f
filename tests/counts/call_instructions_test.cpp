// SPDX-License-Identifier: BSD-3-Clause
// The instructions of a small call in steady state, built as a release: 64 bytes in each direction, both sides
// together, contexts for many threads. The bounds are two percent above the counts at the time of writing, since a busy
// machine adds some (timers); a change that exceeds them is either a mistake or needs a new bound, with the reason in
// the commit message.
#include "callgrind.hpp"
#include "per_call.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace cinnabar {
namespace {

struct Bound {
    const char* name;
    const char* program;
    const char* scheme;
    unsigned in_flight;
    unsigned long instructions_max;  // per call
    unsigned long locked_max = 0;    // per call; locked instructions of the bounds from locked_from on. Wanted: 4
    const char* handlers = "";       // " on_arrival": handlers run on arrival
};

std::string command(const Bound& bound, unsigned long calls) {
    return std::string(bound.program) + " " + bound.scheme + " " + std::to_string(calls) + " " +
           std::to_string(bound.in_flight) + bound.handlers;
}

unsigned long each(const Bound& bound, const counts::CountOf& count, unsigned long calls_few = 500) {
    return counts::per_call([&](unsigned long calls) { return command(bound, calls); }, count, calls_few);
}

class CallInstructions : public testing::TestWithParam<Bound> {
  protected:
    void SetUp() override { ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind; }
};

TEST_P(CallInstructions, StayWithinTheirBound) {
    const unsigned long taken = each(GetParam(), counts::instructions);
    RecordProperty("instructions", std::to_string(taken));
    EXPECT_LE(taken, GetParam().instructions_max);
}

class LockedInstructions : public CallInstructions {};

TEST_P(LockedInstructions, AreFew) {
    const unsigned long taken = each(GetParam(), counts::locked_instructions);
    RecordProperty("locked", std::to_string(taken));
    EXPECT_GT(taken, 0u) << "a context for many threads has none?";
    EXPECT_LE(taken, GetParam().locked_max);
}

// Mutexes of the C library, which a call never locks. What is counted beside them is what timers do meanwhile.
class MutexLocks : public CallInstructions {};

TEST_P(MutexLocks, AreNotPartOfACall) {
    constexpr unsigned long calls = 1000;
    const unsigned long few = counts::mutex_locks(command(GetParam(), calls));
    const unsigned long many = counts::mutex_locks(command(GetParam(), 2 * calls));
    EXPECT_GT(few, 0u) << "opening a context locks some";
    const unsigned long taken = many > few ? many - few : 0;
    RecordProperty("mutexes_in_1000_calls", std::to_string(taken));
    EXPECT_LE(taken, 10u);
}

constexpr std::size_t locked_from = 3;  // the earlier bounds would count the same instructions
// Callgrind does not see the part of clock_gettime() that is inside the kernel (decision 0095).
constexpr Bound bounds[] = {
    {"rpc_self_1", CINNABAR_CALL_LOOP, "self", 1, 3140},
    {"rpc_self_64", CINNABAR_CALL_LOOP, "self", 64, 1630},
    {"rpc_tcp_64", CINNABAR_CALL_LOOP, "tcp", 64, 1570},
    {"rpc_shm_64", CINNABAR_CALL_LOOP, "shm", 64, 1520, 7},
    {"rpc_shm_64_on_arrival", CINNABAR_CALL_LOOP, "shm", 64, 1260, 4, " on_arrival"},
    {"hl_shm_64", CINNABAR_TYPED_LOOP, "shm", 64, 2060, 7},
    {"hl_shm_64_on_arrival", CINNABAR_TYPED_LOOP, "shm", 64, 1829, 5, " on_arrival"},
#ifdef CINNABAR_MERCURY_LOOP
    {"mercury_shm_64", CINNABAR_MERCURY_LOOP, "shm", 64, 2170, 16},
#endif
};

constexpr std::size_t of_core = 7;  // the first ones: of `rpc` and of `hl`

// Each miss stalls the processor for the time of some dozen instructions.
TEST(CacheMisses, AreFew) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    const unsigned long missed = each({"rpc_shm_64", CINNABAR_CALL_LOOP, "shm", 64, 0}, counts::cache_misses);
    RecordProperty("misses", std::to_string(missed));
    EXPECT_GT(missed, 0u) << "with 64 in flight?";
    EXPECT_LE(missed, 37u);
}

// auth.cost: the cost of looking up the verdict of the policy for each call.
TEST(PolicyCost, IsAFewInstructions) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    constexpr unsigned long calls = 64 * 64;  // what timers do while these run is a fraction of an instruction for each
    for (const char* handlers : {"", " on_arrival"}) {
        Bound bound{"auth_cost", CINNABAR_CALL_LOOP, "shm", 64, 0, 0, handlers};
        const unsigned long without = each(bound, counts::instructions, calls);
        const std::string with_policy = std::string(handlers) + " policy";
        bound.handlers = with_policy.c_str();
        const unsigned long with = each(bound, counts::instructions, calls);
        RecordProperty(std::string("auth.cost") + handlers, std::to_string(with - without));
        EXPECT_GT(with, without) << "nobody was asked?";
        EXPECT_LE(with, without + 20);
    }
}

// phases.cost: the cost of timing one call in 64, and of timing every call.
TEST(PhasesCost, IsAFewInstructions) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    constexpr unsigned long calls = 64 * 64;  // each slot is timed once in 64 uses
    const auto with = [](const char* timed) {
        return each({"phases_cost", CINNABAR_TYPED_LOOP, "shm", 64, 0, 0, timed}, counts::instructions, calls);
    };
    const unsigned long none = with(" timed=0");
    const unsigned long some = with(" timed=64");
    const unsigned long all = with(" timed=1");
    RecordProperty("phases.cost.64", std::to_string(some - none));
    RecordProperty("phases.cost.1", std::to_string(all - none));
    EXPECT_GT(some, none) << "none is timed?";
    EXPECT_LE(some, none + 9);
    EXPECT_LE(all, none + 310);  // nine parts, of the RPC and of the peer
}

// trace.cost: what calls cost of which one in 100 is traced, on both sides and with the text of the spans; what those
// cost that are not; and what one in 100 costs that a limit leaves out. Under callgrind calls take so long that their
// parts are drawn, which costs 17 of them.
TEST(TraceCost, IsAFewInstructions) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    constexpr unsigned long calls = 20'000;
    const auto with = [](const char* traced) {
        return each({"trace_cost", CINNABAR_TYPED_LOOP, "shm", 64, 0, 0, traced}, counts::instructions, calls);
    };
    const unsigned long none = with(" timed=0");
    const unsigned long others = with(" timed=0 traced=1000000000");
    const unsigned long left_out = with(" timed=0 traced=100 limit=1");
    const unsigned long some = with(" timed=0 traced=100");
    RecordProperty("trace.cost.others", std::to_string(others - none));
    RecordProperty("trace.cost.left_out", std::to_string(left_out - none));
    RecordProperty("trace.cost.100", std::to_string(some - none));
    EXPECT_LE(others, none + 20);
    EXPECT_LE(left_out, others + 5);
    EXPECT_GT(some, others) << "none is traced?";
    EXPECT_LE(some, none + 80);
}

#ifdef CINNABAR_PERF_LOOP
// perf.self: what `cinnabar perf calls` does with each call beyond making it: fills it and looks at what comes back,
// and records how long it took, twice.
TEST(PerfCost, IsAFewInstructions) {
    ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind;
    const unsigned long bare = each({"perf_cost", CINNABAR_CALL_LOOP, "shm", 16, 0}, counts::instructions, 4'096);
    const unsigned long measured = each({"perf_cost", CINNABAR_PERF_LOOP, "shm", 16, 0}, counts::instructions, 4'096);
    RecordProperty("perf.cost", std::to_string(measured - bare));
    EXPECT_GT(measured, bare);
    EXPECT_LE(measured, bare + 180);
}
#endif

const auto name_of = [](const auto& i) { return std::string(i.param.name); };
INSTANTIATE_TEST_SUITE_P(Over, CallInstructions, testing::ValuesIn(bounds), name_of);
INSTANTIATE_TEST_SUITE_P(Over, LockedInstructions,
                         testing::ValuesIn(std::begin(bounds) + locked_from, std::end(bounds)), name_of);
INSTANTIATE_TEST_SUITE_P(Over, MutexLocks, testing::ValuesIn(std::begin(bounds), std::begin(bounds) + of_core),
                         name_of);

}  // namespace
}  // namespace cinnabar
