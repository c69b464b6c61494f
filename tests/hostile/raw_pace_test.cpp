// SPDX-License-Identifier: BSD-3-Clause
// Peers that send raw bytes, and on which networks each behaviour exists:
//
// - half greetings: tcp, and libfabric, whose greetings use tcp. A greeting of shm is one packet.
// - half messages, half transfers: tcp. A record of shm is published only when it is complete, and so is a message of a
//   fabric; tests/unit/ofi/silent_peers_test.cpp has puts of libfabric whose chunks never come.
// - lanes and their tokens: only tcp.
// - none of these: verbs. Devices deliver complete messages and carry out accesses themselves, and a greeting is part
//   of the request for a connection; tests/unit/verbs/hostile_test.cpp has what is possible there.
// - accesses whose answers are never read: tcp here; all other networks in BesideHostile.ReadsAndTakesNothing, up to
//   the number that our own transport allows in flight.
#include "pace_fixture.hpp"
#include "raw_crowd.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::rpc {
namespace {

using hostile::RawCrowd;
using support::NetworkKind;

constexpr unsigned members = 3;

class BesideBytes : public PaceTest {
  protected:
    void keep_pace_beside(RawCrowd::Does does) {
        const std::string target = target_.transport->endpoints().front();
        keep_pace([&] { return std::make_unique<RawCrowd>(members, target, does); });
    }
};

TEST_P(BesideBytes, HalfMessages) { keep_pace_beside(RawCrowd::Does::half_messages); }
TEST_P(BesideBytes, HalfPuts) { keep_pace_beside(RawCrowd::Does::half_puts); }
TEST_P(BesideBytes, WrongTokens) { keep_pace_beside(RawCrowd::Does::wrong_tokens); }
TEST_P(BesideBytes, RepeatedTokens) { keep_pace_beside(RawCrowd::Does::repeated_tokens); }
TEST_P(BesideBytes, UnreadGets) { keep_pace_beside(RawCrowd::Does::unread_gets); }

class BesideHalfGreetings : public BesideBytes {};
TEST_P(BesideHalfGreetings, Silent) { keep_pace_beside(RawCrowd::Does::half_greetings); }

std::vector<NetworkKind> among_those_here(std::vector<NetworkKind> wanted) {
    const std::vector<NetworkKind> here = support::networks();
    std::erase_if(wanted, [&](NetworkKind kind) { return std::ranges::count(here, kind) == 0; });
    return wanted;
}

const auto name_of = [](const auto& each) { return to_string(each.param); };
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BesideBytes);  // with devices there are none
INSTANTIATE_TEST_SUITE_P(Over, BesideBytes, testing::ValuesIn(among_those_here({NetworkKind::tcp})), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BesideHalfGreetings);
INSTANTIATE_TEST_SUITE_P(
    Over, BesideHalfGreetings,
    testing::ValuesIn(among_those_here({NetworkKind::tcp, NetworkKind::ofi_tcp_rxm, NetworkKind::ofi_net})), name_of);

}  // namespace
}  // namespace cinnabar::rpc
