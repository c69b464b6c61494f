// SPDX-License-Identifier: BSD-3-Clause
// Peers that are alive but do not respond, because nothing drives their contexts: pulls from them end, and other peers
// are not blocked.
#include "bulk_fixture.hpp"

#include <array>

namespace cinnabar::bulk {
namespace {

using support::NetworkKind;
using support::Scattered;

class SilentBulk : public testing::TestWithParam<NetworkKind> {};

TEST_P(SilentBulk, TwoSilentPeersDoNotBlockAThird) {
    constexpr std::size_t bytes = 1024 * 1024;
    constexpr std::size_t budget = bytes / 2;
    BulkOn on(GetParam(), 1);
    if (const std::string missing = on.network.missing(); !missing.empty()) GTEST_SKIP() << missing;
    const MoverOptions options{.chunk_bytes = bytes / 16,
                               .inflight_bytes_max = budget,
                               .peer_inflight_bytes_max = budget / 2,
                               .stall_max = std::chrono::seconds(4)};  // for a slow machine
    Side& reader = on.add("reader", options);
    std::array<Side*, 3> owners{&on.add("silent"), &on.add("also silent"), &on.add("third")};
    std::array<Scattered, 3> there{Scattered(bytes), Scattered(bytes), Scattered(bytes)};
    std::array<Scattered, 3> here{Scattered(bytes), Scattered(bytes), Scattered(bytes)};
    std::array<LentRegion*, 3> lent{};
    for (std::size_t i = 0; i < 3; ++i) {
        there[i].fill(i + 1);
        lent[i] = &on.lend(*owners[i], there[i].region);
        Outcome connected;
        on.start(reader, BulkOn::args_of(*lent[i], here[i].region.slice(0, 1)), connected);
        ASSERT_TRUE(on.until_done(connected));
        ASSERT_EQ(connected.result, Errc::ok);
    }
    for (std::size_t i = 0; i < 2; ++i) on.pump.remove(*owners[i]->context);
    std::array<Outcome, 3> outcomes;
    for (std::size_t i = 0; i < 2; ++i) on.start(reader, BulkOn::args_of(*lent[i], here[i].region), outcomes[i]);
    ASSERT_TRUE(on.pump.until([&] { return reader.mover->bytes_inflight() == budget; })) << "all there is";
    on.start(reader, BulkOn::args_of(*lent[2], here[2].region), outcomes[2]);
    ASSERT_TRUE(on.until_done(outcomes[2]));
    EXPECT_EQ(outcomes[2].result, Errc::ok);
    EXPECT_EQ(here[2].bytes(), there[2].bytes());
    EXPECT_EQ(outcomes[0].completions + outcomes[1].completions, 0);
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(on.until_done(outcomes[i]));
        EXPECT_EQ(outcomes[i].result, Errc::timed_out);
    }
    for (std::size_t i = 0; i < 2; ++i) on.pump.add(*owners[i]->context);
}

INSTANTIATE_TEST_SUITE_P(Over, SilentBulk, testing::Values(NetworkKind::tcp, NetworkKind::ofi_tcp_rxm),
                         [](const auto& each) { return to_string(each.param); });

}  // namespace
}  // namespace cinnabar::bulk
