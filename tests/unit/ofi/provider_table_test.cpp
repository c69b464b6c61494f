// SPDX-License-Identifier: BSD-3-Clause
#include "provider_table.hpp"

#include "support/missing_here.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/ofi.hpp>

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::ofi {
namespace {

Errc opening(const std::string& uri) {
    na::Registry registry;
    EXPECT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open(uri, {});
    return opened ? Errc::ok : opened.code();
}

struct NoReceiver final : na::Receiver {
    void on_unexpected(na::Arrival&) noexcept override {}
    void on_expected(na::Arrival&) noexcept override {}
    void on_notify(na::Peer&, std::uint32_t) noexcept override {}
    void on_peer(na::Peer&, na::PeerEvent, Errc) noexcept override {}
};

TEST(ProviderTable, RowsDoNotContradictEachOther) {
    std::set<std::string_view> schemes;
    for (const Provider& provider : providers()) {
        EXPECT_TRUE(schemes.insert(provider.scheme).second) << provider.scheme;
        EXPECT_EQ(provider.scheme, "ofi+" + std::string(provider.name));
        EXPECT_GE(provider.chunk_bytes, 64u * 1024) << provider.name;
        EXPECT_FALSE(provider.own_progress && provider.lingers) << provider.name;
    }
}

// Asked of libfabric itself: other tests skip a provider that does not open, and would hide that it should.
TEST(ProviderTable, EveryTestedProviderThatLibfabricHasOpens) {
    unsigned here = 0;
    for (const Provider& provider : providers()) {
        if (provider.standing != Standing::tested) continue;
        fi_info* hints = ::fi_allocinfo();
        hints->ep_attr->type = FI_EP_RDM;
        hints->fabric_attr->prov_name = ::strdup(provider.name);
        fi_info* found = nullptr;
        const bool has = ::fi_getinfo(FI_VERSION(1, 14), nullptr, nullptr, 0, hints, &found) == 0 &&
                         std::string_view(found->fabric_attr->prov_name) == provider.name;
        ::fi_freeinfo(found);
        ::fi_freeinfo(hints);
        if (!has) continue;
        ++here;
        EXPECT_EQ(opening(std::string(provider.scheme) + "://127.0.0.1:0"), Errc::ok) << provider.name;
    }
    EXPECT_GE(here, 1u);
}

TEST(ProviderTable, WhatNobodyHasRunIsOffUntilAskedFor) {
    unsigned untested = 0;
    for (const Provider& provider : providers()) {
        if (provider.standing == Standing::tested) continue;
        ++untested;
        EXPECT_EQ(opening(std::string(provider.scheme) + "://"), Errc::unsupported) << provider.name;
        EXPECT_FALSE(provider.note.empty()) << provider.name;
    }
    EXPECT_GE(untested, 4u);
}

TEST(ProviderTable, AnUnknownProviderIsABadAddress) {
    EXPECT_EQ(opening("ofi+pigeon://127.0.0.1:0"), Errc::bad_address);
}

TEST(ProviderTable, WithoutAProviderTheFirstThatIsHereIsTaken) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open("ofi://", {});
    ASSERT_TRUE(opened.ok());
    const std::string found = (*opened)->diagnosis();
    for (const Provider& provider : providers()) EXPECT_NE(found.find(provider.name), std::string::npos) << found;
    EXPECT_NE(found.find("cxi (UNTESTED)"), std::string::npos) << found;
}

TEST(ProviderTable, OptionsThatAreNoneAreBadAddresses) {
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?colour=red"), Errc::bad_address);
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?subnet=10.0.0"), Errc::bad_address);
    EXPECT_EQ(opening("ofi+tcp://no-such-host.invalid:0"), Errc::bad_address);
}

TEST(ProviderTable, ADomainOrASubnetThatIsNotHereIsUnsupported) {
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?domain=mlx5_77"), Errc::unsupported);
    EXPECT_EQ(opening("ofi+tcp://mlx5_77/127.0.0.1:0"), Errc::unsupported);
    EXPECT_EQ(opening("ofi+tcp://?subnet=203.0.113.0/24"), Errc::unsupported);
}

TEST(ProviderTable, WhoPollsAllTheTimeNeedsNoDescriptor) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto sleeps = registry.open("ofi+tcp;ofi_rxm://127.0.0.1:0", {});
    ASSERT_TRUE(sleeps.ok());
    EXPECT_TRUE((*sleeps)->caps().wait_fd);
    const auto polls = registry.open("ofi+tcp;ofi_rxm://127.0.0.1:0?busy=yes", {});
    ASSERT_TRUE(polls.ok());
    EXPECT_FALSE((*polls)->caps().wait_fd);
    EXPECT_NE((*polls)->diagnosis().find("busy"), std::string::npos) << (*polls)->diagnosis();
}

// What a killed process leaves in shared memory bears its number, which may be this one's by now.
TEST(ProviderTable, WhatAnEarlierProcessLeftBehindIsPassedBy) {
    namespace fs = std::filesystem;
    constexpr int taken = 3;
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto transport = registry.open("ofi+shm://127.0.0.1:0", {});
    if (const auto missing = support::missing_here(transport); !missing.empty()) GTEST_SKIP() << missing;
    ASSERT_TRUE(transport.ok()) << transport.error().message();
    NoReceiver receiver;
    na::Transport* const only = transport->get();
    const auto open = [&](na::ContextId id) {
        na::ContextOptions options;
        options.id = id;
        return na::Context::open({&only, 1}, options, receiver);
    };
    const auto first = open(0);
    ASSERT_TRUE(first.ok()) << first.error().message();
    const std::string own = std::to_string(::getpid()) + ":" + std::to_string(::getuid()) + ":";
    int last = -1;
    for (const auto& entry : fs::directory_iterator("/dev/shm")) {
        const std::string name = entry.path().filename();
        if (name.starts_with(own)) last = std::max(last, std::stoi(name.substr(own.size())));
    }
    ASSERT_GE(last, 0) << "libfabric has other names for its endpoints by now";
    const fs::path region = "/dev/shm/" + own + std::to_string(last);
    std::vector<fs::path> left;
    for (int next = last + 1; next <= last + taken; ++next) {
        left.push_back("/dev/shm/" + own + std::to_string(next));
        fs::copy_file(region, left.back());
    }
    EXPECT_TRUE(open(1).ok());
    for (const fs::path& path : left) fs::remove(path);
}

TEST(ProviderTable, AShortSchemeMeansTheProviderWithWhatItNeedsOnTop) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open("ofi+tcp://127.0.0.1:0", {});
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE((*opened)->scheme() == "ofi+tcp;ofi_rxm" || (*opened)->scheme() == "ofi+tcp");
    EXPECT_TRUE((*opened)->reaches("ofi+tcp://10.0.0.1:5"));
    EXPECT_FALSE((*opened)->reaches("ofi+net://10.0.0.1:5"));
    EXPECT_FALSE((*opened)->reaches("tcp://10.0.0.1:5"));
    // What was chosen, and from what.
    EXPECT_NE((*opened)->diagnosis().find("domain lo"), std::string::npos) << (*opened)->diagnosis();
}

}  // namespace
}  // namespace cinnabar::ofi
