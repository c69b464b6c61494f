// SPDX-License-Identifier: BSD-3-Clause
// A table of the capabilities of each transport. The other contract tests skip capabilities that a transport does not
// declare, so they would not notice a lost one.
#include "contract.hpp"

#include <map>

namespace cinnabar::contract {
namespace {

using support::NetworkKind;

constexpr na::Caps stream{.ordered = true,
                          .put_notify = true,
                          .atomics = true,
                          .offset_addressing = true,
                          .revocable = true,
                          .detects_loss = true,
                          .wait_fd = true};

constexpr na::Caps with(na::Caps caps, bool na::Caps::*capability, bool value) {
    caps.*capability = value;
    return caps;
}

const std::map<NetworkKind, na::Caps>& table() {
    constexpr na::Caps same_host = with(stream, &na::Caps::same_host_only, true);
    constexpr na::Caps sockets = with(with(stream, &na::Caps::confines, true), &na::Caps::admits_guests, true);
    static const std::map<NetworkKind, na::Caps> caps{
        {NetworkKind::self, same_host},
        {NetworkKind::sim_friendly, with(sockets, &na::Caps::wait_fd, false)},
        {NetworkKind::sim_strict, {.put_notify = true, .atomics = true, .detects_loss = true, .counted_slots = true}},
        {NetworkKind::tcp, sockets},
        {NetworkKind::tcps, with(sockets, &na::Caps::proves_peers, true)},
        {NetworkKind::sealed_tcp, with(sockets, &na::Caps::proves_peers, true)},
        {NetworkKind::shm, with(same_host, &na::Caps::views, true)},
        {NetworkKind::shm_buffers, with(sockets, &na::Caps::same_host_only, true)},
        {NetworkKind::ofi_tcp_rxm, sockets},
        {NetworkKind::ofis_tcp_rxm, with(sockets, &na::Caps::proves_peers, true)},
        {NetworkKind::ofi_net, sockets},
        {NetworkKind::ofi_sockets, sockets},
        {NetworkKind::ofi_shm, with(with(sockets, &na::Caps::same_host_only, true), &na::Caps::wait_fd, false)},
        {NetworkKind::ofi_udp_rxd, with(sockets, &na::Caps::wait_fd, false)},
    };
    return caps;
}

// For the transport of cable_ends(): verbs, verbss, tcp or tcps.
na::Caps over_cable(const na::Transport& transport) {
    if (support::cable_ends()->is_of("tcps")) return table().at(NetworkKind::tcps);
    if (support::cable_ends()->is_of("verbss")) return table().at(NetworkKind::sealed_tcp);
    if (!support::cable_ends()->is_of("verbs")) return table().at(NetworkKind::tcp);
    na::Caps caps = stream;
    caps.offset_addressing = false;
    caps.guessable_keys = transport.diagnosis().find("iWARP") != std::string::npos;
    caps.atomics = !caps.guessable_keys;
    caps.atomics_by_device = caps.atomics;
    // By the memory windows of rxe; siw has none.
    caps.confines = !caps.guessable_keys && support::cable_ends()->near_end.find("windows=yes") != std::string::npos;
    return caps;
}

class Capabilities : public testing::TestWithParam<NetworkKind> {};

TEST_P(Capabilities, MatchTheTable) {
    support::Network network(GetParam());
    if (const std::string missing = network.missing(); !missing.empty()) GTEST_SKIP() << missing;
    const auto transport = network.open("a", {});
    ASSERT_TRUE(transport.ok()) << transport.error().message();
    const na::Caps& seen = (*transport)->caps();
    const na::Caps expected = GetParam() == NetworkKind::cable ? over_cable(**transport) : table().at(GetParam());
    EXPECT_EQ(seen.ordered, expected.ordered);
    EXPECT_EQ(seen.put_notify, expected.put_notify);
    EXPECT_EQ(seen.atomics, expected.atomics);
    EXPECT_EQ(seen.atomics_by_device, expected.atomics_by_device);
    EXPECT_EQ(seen.offset_addressing, expected.offset_addressing);
    EXPECT_EQ(seen.revocable, expected.revocable);
    EXPECT_EQ(seen.detects_loss, expected.detects_loss);
    EXPECT_EQ(seen.wait_fd, expected.wait_fd);
    EXPECT_EQ(seen.counted_slots, expected.counted_slots);
    EXPECT_EQ(seen.same_host_only, expected.same_host_only);
    EXPECT_EQ(seen.views, expected.views);
    EXPECT_EQ(seen.proves_peers, expected.proves_peers);
    EXPECT_EQ(seen.confines, expected.confines);
    EXPECT_EQ(seen.admits_guests, expected.admits_guests);
    EXPECT_EQ(seen.guessable_keys, expected.guessable_keys);
}

CINNABAR_CONTRACT(Capabilities);

}  // namespace
}  // namespace cinnabar::contract
