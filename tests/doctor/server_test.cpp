// SPDX-License-Identifier: BSD-3-Clause
// What the doctor reports about servers, which are nodes of this process.
#include "doctor/towards.hpp"
#include "made_up_host.hpp"
#include "perf/service.hpp"
#include "support/sanitizers.hpp"
#include "support/test_key.hpp"

#include <cinnabar/hl/node.hpp>
#include <cinnabar/na/uri.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::tools::doctor {
namespace {

struct DoctorServer : testing::Test {
    MadeUpHost host;
    perf::ServiceOptions options;
    std::optional<hl::Node> node;
    std::string transport;

    DoctorServer() {
        host.mtus["127.0.0.1"] = 65'536;
        options.release = "1.0";
    }
    void serve(std::initializer_list<std::string_view> listen) {
        node.emplace(hl::Node::listen(listen).value());
        EXPECT_TRUE(perf::Service::serve_on(*node, options));
    }
    Findings look(const std::string& uri, const na::TlsOptions& tls = {}) const {
        Findings found;
        check_server(host, {uri, transport, "1.0", tls, 0.15}, {}, found);
        return found;
    }
    static void expect(const Findings& found, const std::string& id, Severity severity, const std::string& part,
                       ExitCode exit = ExitCode::ok) {
        const auto* const finding = found.find(id);
        ASSERT_NE(finding, nullptr) << id;
        EXPECT_EQ(finding->severity, severity) << finding->what;
        EXPECT_NE(finding->what.find(part), std::string::npos) << finding->what;
        EXPECT_EQ(finding->exit, exit) << finding->what;
        if (severity == Severity::problem || severity == Severity::warning) {
            EXPECT_NE(finding->remedy, "") << finding->what;
        }
    }
};

TEST_F(DoctorServer, AGoodOne) {
    serve({"tcp://127.0.0.1:0", "shm://"});
    const auto found = look(node->address());
    expect(found, "server-reach", Severity::good, "over shm");
    expect(found, "server-way", Severity::good, "tcp:// works as well");
    expect(found, "server-version", Severity::good, "1.0");
    expect(found, "server-round-trip", Severity::good, "64 bytes");
    expect(found, "server-bandwidth", Severity::good, "B/s");
    expect(found, "server-bytes", Severity::good, "right");
    EXPECT_EQ(found.exit(true), ExitCode::ok);
}

TEST_F(DoctorServer, AWayThatIsNotTheBest) {
    serve({"tcp://127.0.0.1:0", "shm://"});
    transport = "tcp";
    const auto found = look(node->address());
    expect(found, "server-reach", Severity::good, "over tcp");
    expect(found, "server-way", Severity::note, "shm:// works as well");
    expect(found, "server-mtu", Severity::good, "65536");
}

TEST_F(DoctorServer, ALocalOneWithoutSharedMemory) {
    serve({"tcp://127.0.0.1:0"});
    expect(look(node->address()), "server-way", Severity::note, "does not listen in shared memory");
}

TEST_F(DoctorServer, ARemoteOneThatDoesNotListenOnRdmaDevices) {
    serve({"tcp://127.0.0.1:0"});
    const auto port = na::Uri::parse(node->endpoints().front()).value().port.value();
    // Also reaches this host, but does not tell so.
    const std::string uri = "tcp://0.0.0.0:" + std::to_string(port);
    EXPECT_EQ(look(uri).find("server-way"), nullptr);
    host.add_device("mlx5_0");
    expect(look(uri), "server-way", Severity::note, "this host has RDMA devices");
}

TEST_F(DoctorServer, APoorProviderOfLibfabric) {
    if (support::sanitized) GTEST_SKIP() << "that provider is not run under sanitizers";
    auto listening = hl::Node::listen("ofi+sockets://127.0.0.1:0");
    if (!listening) GTEST_SKIP() << "libfabric has no provider sockets here: " << listening.error().message();
    node.emplace(*std::move(listening));
    const auto found = look(node->address());
    expect(found, "server-reach", Severity::good, "over ofi+sockets");
    expect(found, "server-way", Severity::warning, "libfabric does not maintain it", ExitCode::unsuitable);
}

// The address has the folder of another host, so shared memory cannot be used.
TEST_F(DoctorServer, AWayThatIsNotTaken) {
    serve({"tcp://127.0.0.1:0"});
    const auto found = look(node->address() + ",shm://elsewhere?place=0123456789abcdef");
    expect(found, "server-reach", Severity::good, "over tcp");
    expect(found, "server-way", Severity::warning, "shm:// is not taken", ExitCode::unreachable);
}

// The address names no folder, so shared memory would be used, but nothing listens there.
TEST_F(DoctorServer, TheBestWayDoesNotAnswer) {
    serve({"tcp://127.0.0.1:0"});
    const auto found = look(node->address() + ",shm://nobody-here");
    expect(found, "server-way", Severity::problem, "shm:// is preferred", ExitCode::unreachable);
    expect(found, "server-reach", Severity::good, "over tcp");
    expect(found, "server-bytes", Severity::good, "right");
}

TEST_F(DoctorServer, ATunnelOnTheWay) {
    serve({"tcp://127.0.0.1:0"});
    host.mtus["127.0.0.1"] = 1280;
    expect(look(node->address()), "server-mtu", Severity::warning, "1280", ExitCode::unsuitable);
    host.mtus.clear();
    expect(look(node->address()), "server-mtu", Severity::note, "not known");
}

std::ptrdiff_t place_of(const Findings& found, const std::string& id) {
    return std::ranges::find(found.all(), id, &Finding::id) - found.all().begin();
}

// What lies beyond the first hop is known only after large packets.
TEST_F(DoctorServer, TheLargestPacketIsLookedUpAfterTheTransfers) {
    serve({"tcp://127.0.0.1:0"});
    const auto found = look(node->address());
    expect(found, "server-mtu", Severity::good, "packets of up to 65536 bytes go that way");
    EXPECT_GT(place_of(found, "server-mtu"), place_of(found, "server-bandwidth"));
    node.emplace(hl::Node::listen("tcp://127.0.0.1:0").value());
    expect(look(node->address()), "server-mtu", Severity::good, "no large ones were sent");
}

#ifdef CINNABAR_PLUGIN_tcps
TEST_F(DoctorServer, TheLargestPacketOverTcps) {
    hl::NodeOptions proven;
    proven.transport.tls.key_file = support::test_key_file();
    node.emplace(hl::Node::listen("tcps://127.0.0.1:0", proven).value());
    EXPECT_TRUE(perf::Service::serve_on(*node, options));
    expect(look(node->address(), proven.transport.tls), "server-mtu", Severity::good, "65536");
}
#endif

TEST_F(DoctorServer, TheLargestPacketIsThatOfAConnection) {
    serve({"tcp://127.0.0.1:0"});
    const std::string endpoint = node->endpoints().front();
    const auto port = na::Uri::parse(endpoint).value().port.value();
    EXPECT_GE(this_host().path_mtu("127.0.0.1", port).value_or(0), 1500u) << "the loopback";
    node.reset();
    EXPECT_FALSE(this_host().path_mtu("127.0.0.1", port)) << "nobody accepts";
}

TEST_F(DoctorServer, AnotherVersion) {
    options.release = "0.9";
    serve({"tcp://127.0.0.1:0"});
    expect(look(node->address()), "server-version", Severity::note, "0.9 there, 1.0 here");
}

TEST_F(DoctorServer, OneThatServesGarbage) {
    options.faults.corrupt_every = 7;
    serve({"tcp://127.0.0.1:0"});
    const auto found = look(node->address());
    expect(found, "server-bytes", Severity::problem, "arrived with wrong bytes", ExitCode::damaged);
    EXPECT_EQ(found.exit(false), ExitCode::damaged);
}

// The first answer arrives after the end of the measurement.
TEST_F(DoctorServer, OneThatAnswersNothingInThatTime) {
    options.faults.stall = options.faults.stall_every = std::chrono::milliseconds{400};
    serve({"tcp://127.0.0.1:0"});
    const auto found = look(node->address());
    expect(found, "server-bandwidth", Severity::problem, "nothing was measured", ExitCode::overloaded);
    EXPECT_EQ(found.find("server-round-trip"), nullptr);
    EXPECT_EQ(found.find("server-bytes"), nullptr);
}

TEST_F(DoctorServer, OneWithoutThePerfService) {
    node.emplace(hl::Node::listen("tcp://127.0.0.1:0").value());
    const auto found = look(node->address());
    expect(found, "server-round-trip", Severity::good, "an answer takes");
    expect(found, "server-perf", Severity::note, "does not serve");
    EXPECT_EQ(found.exit(false), ExitCode::ok);
}

TEST_F(DoctorServer, OneThatIsNotThere) {
    node.emplace(hl::Node::listen("tcp://127.0.0.1:0").value());
    const std::string gone = node->address();
    node.reset();
    expect(look(gone), "server-reach", Severity::problem, "refused", ExitCode::unreachable);
    expect(look("nonsense"), "server-reach", Severity::problem, "SCHEME://", ExitCode::unreachable);
    expect(look("carrier-pigeon://x"), "server-reach", Severity::problem, "carrier-pigeon", ExitCode::unreachable);
}

}  // namespace
}  // namespace cinnabar::tools::doctor
