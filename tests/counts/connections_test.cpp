// SPDX-License-Identifier: BSD-3-Clause
// What the other connections of a server cost a small call over one of them: instructions as in
// call_instructions_test.cpp, beside those of a server with one connection. Under valgrind most of the time goes into
// the connections themselves, so only the full plan makes as many as are wanted.
#include "callgrind.hpp"
#include "per_call.hpp"
#include "support/os_limits.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar {
namespace {

struct Network {
    const char* name;
    const char* scheme;
    unsigned in_flight;
    unsigned long percent_max;  // what the others may add
};

// Of both sides of a connection, in one process; rounded up.
unsigned long descriptors_each(const std::string& scheme) { return scheme == "shm" ? 12 : 6; }

class Connections : public testing::TestWithParam<Network> {
  protected:
    void SetUp() override { ASSERT_TRUE(counts::has_valgrind()) << counts::get_valgrind; }

    // Empty, or why a server with so many connections cannot be counted here.
    static std::string hindered(unsigned long connections) {
        constexpr unsigned long others = 256;  // of the program, and those that valgrind reserves
        return support::allow_descriptors(descriptors_each(GetParam().scheme) * connections + others);
    }

    static unsigned long each(const std::string& mode) {
        constexpr unsigned long calls = 64 * 64;  // what timers do meanwhile is then a small part
        const auto loop = [&](unsigned long count) {
            return std::string(CINNABAR_CONNECTIONS_LOOP) + " " + GetParam().scheme + " " + std::to_string(count) +
                   " " + std::to_string(GetParam().in_flight) + " " + mode;
        };
        return counts::per_call(loop, counts::instructions, calls);
    }

    static void expect_little(unsigned long added, unsigned long alone) {
        RecordProperty("alone", std::to_string(alone));
        RecordProperty("added", std::to_string(added));
        EXPECT_LE(100 * added, alone * GetParam().percent_max)
            << "a call with one connection takes " << alone << " instructions, and these add " << added;
    }
};

unsigned long beyond(unsigned long more, unsigned long less) { return more > less ? more - less : 0; }

#ifdef CINNABAR_FULL_TESTS
constexpr unsigned long quiet = 1000;
constexpr unsigned long busy = 256;
#else
// More than shm and tcp poll in every round, so that all that grows with the number shows.
constexpr unsigned long quiet = 100;
constexpr unsigned long busy = 80;
#endif

class QuietConnections : public Connections {};

TEST_P(QuietConnections, AddLittleToACall) {
    const std::string why = hindered(quiet);
    if (!why.empty()) GTEST_SKIP() << why;
    const unsigned long alone = each("quiet=0");
    expect_little(beyond(each("quiet=" + std::to_string(quiet)), alone), alone);
}

class BusyConnections : public Connections {};

TEST_P(BusyConnections, AddLittleToACall) {
    const std::string why = hindered(busy);
    if (!why.empty()) GTEST_SKIP() << why;
    // A client among so many of one process takes a longer way to its peer, which is not what is counted: it is part
    // of both runs that are compared.
    const unsigned long one_in_turn = each("turns=1");
    expect_little(beyond(each("turns=" + std::to_string(busy)), one_in_turn), each("quiet=0"));
}

// As wanted. Over shm, quiet connections are flagged (decision 0120).
constexpr Network quiet_networks[] = {
    {"shm_64", "shm", 64, 5},
    {"shm_1", "shm", 1, 5},
    {"tcp_64", "tcp", 64, 5},
    {"tcp_1", "tcp", 1, 5},
};
// As wanted.
constexpr Network busy_networks[] = {
    {"shm", "shm", 1, 25},
    {"tcp", "tcp", 1, 25},
};

const auto name_of = [](const auto& i) { return std::string(i.param.name); };
INSTANTIATE_TEST_SUITE_P(Over, QuietConnections, testing::ValuesIn(quiet_networks), name_of);
INSTANTIATE_TEST_SUITE_P(Over, BusyConnections, testing::ValuesIn(busy_networks), name_of);

}  // namespace
}  // namespace cinnabar
