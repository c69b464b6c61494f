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
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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

std::string message_of(const std::string& uri) {
    na::Registry registry;
    EXPECT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open(uri, {});
    return opened ? std::string() : opened.error().message();
}

std::string diagnosis_of(const std::string& uri) {
    na::Registry registry;
    EXPECT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open(uri, {});
    return opened ? (*opened)->diagnosis() : opened.error().message();
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

// Asks libfabric directly, since other tests skip a provider that does not open even if it should.
TEST(ProviderTable, EveryTestedProviderThatLibfabricHasOpens) {
    unsigned here = 0;
    for (const Provider& provider : providers()) {
        if (provider.standing != Standing::tested || provider.on_request) continue;  // on request only: tests/vm
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

TEST(ProviderTable, DisabledProvidersNeedAnOption) {
    unsigned off = 0;
    for (const Provider& provider : providers()) {
        EXPECT_TRUE(provider.standing == Standing::tested || !provider.note.empty()) << provider.name;
        if (!provider.on_request) continue;
        ++off;
        const std::string uri = std::string(provider.scheme) + "://";
        EXPECT_NE(message_of(uri).find("?untested=yes"), std::string::npos) << message_of(uri);
        // If the provider is asked for, the error is only that libfabric does not have it.
        const std::string asked = message_of(uri + "?untested=yes");
        EXPECT_EQ(asked.find("is off"), std::string::npos) << asked;
    }
    EXPECT_GE(off, 5u);
}

TEST(ProviderTable, AnUnknownProviderIsABadAddress) {
    EXPECT_EQ(opening("ofi+pigeon://127.0.0.1:0"), Errc::bad_address);
    const std::string said = message_of("ofi+pigeon://127.0.0.1:0");
    const std::string description(plugin_info.description);
    for (const Provider& provider : providers()) {
        const std::string scheme(provider.scheme);
        EXPECT_NE(said.find(scheme), std::string::npos) << said;
        if (provider.standing == Standing::tested) continue;
        EXPECT_NE(said.find(scheme + " (UNTESTED)"), std::string::npos) << said;
        if (!provider.on_request) continue;
        EXPECT_NE(description.find(provider.name, description.find("UNTESTED")), std::string::npos) << description;
    }
}

TEST(ProviderTable, AnEnvironmentVariableThatIsTooLowIsNamed) {
    const char* const variable = "FI_OFI_RXM_EAGER_LIMIT";
    apply_settings();
    const std::string before = std::getenv(variable);
    ASSERT_EQ(::setenv(variable, "65536", 1), 0);
    EXPECT_EQ(opening("ofi+tcp;ofi_rxm://127.0.0.1:0"), Errc::unsupported);
    const std::string said = message_of("ofi+tcp;ofi_rxm://127.0.0.1:0");
    EXPECT_NE(said.find("FI_OFI_RXM_EAGER_LIMIT=65536"), std::string::npos) << said;
    ASSERT_EQ(::setenv(variable, before.c_str(), 1), 0);
    EXPECT_EQ(opening("ofi+tcp;ofi_rxm://127.0.0.1:0"), Errc::ok);
}

TEST(ProviderTable, WithoutAProviderTheFirstAvailableOneIsUsed) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open("ofi://", {});
    ASSERT_TRUE(opened.ok());
    const std::string found = (*opened)->diagnosis();
    for (const Provider& provider : providers()) EXPECT_NE(found.find(provider.name), std::string::npos) << found;
    EXPECT_NE(found.find("cxi (UNTESTED)"), std::string::npos) << found;
}

TEST(ProviderTable, AProviderThatStrangersCanEndIsOnlyChosenByName) {
    unsigned found = 0;
    for (const Provider& provider : providers()) {
        if (!provider.trusted_only) continue;
        ++found;
        EXPECT_FALSE(means("ofi", provider)) << provider.name;
        EXPECT_TRUE(means(provider.scheme, provider)) << provider.name;
        EXPECT_NE(provider.note.find("trusted networks only"), std::string_view::npos) << provider.name;
    }
    EXPECT_EQ(found, 1u);
}

TEST(ProviderTable, UnknownOptionsAreBadAddresses) {
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?colour=red"), Errc::bad_address);
    EXPECT_EQ(opening("ofi+tcp;ofi_rxm://127.0.0.1:0?reads=fabric"), Errc::bad_address);
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?subnet=10.0.0"), Errc::bad_address);
    for (const char* wrong :
         {"10.0.0.0/33", "10.0.0.0/16x", "10.0.0.0/", "10.0.0.0/0", "fd00::/129", "fd00::", "fd0x::/8"}) {
        EXPECT_EQ(opening("ofi+tcp://?subnet=" + std::string(wrong)), Errc::bad_address) << wrong;
    }
    EXPECT_EQ(opening("ofi+tcp://no-such-host.invalid:0"), Errc::bad_address);
}

TEST(ProviderTable, AMissingDomainOrSubnetIsUnsupported) {
    EXPECT_EQ(opening("ofi+tcp://127.0.0.1:0?domain=mlx5_77"), Errc::unsupported);
    EXPECT_EQ(opening("ofi+tcp://mlx5_77/127.0.0.1:0"), Errc::unsupported);
    EXPECT_EQ(opening("ofi+tcp://?subnet=203.0.113.0/24"), Errc::unsupported);
}

TEST(ProviderTable, AnAvailableDomainInterfaceOrSubnetIsUsed) {
    for (const char* fits : {"?domain=lo", "?interface=lo", "lo/lo:0", "lo/127.0.0.1:0", "127.0.0.1:0?domain=lo",
                             "?subnet=127.0.0.0/8", "?subnet=127.0.0.1/32", "?subnet=126.0.0.0/7"}) {
        const std::string found = diagnosis_of("ofi+tcp;ofi_rxm://" + std::string(fits));
        EXPECT_NE(found.find("tcp;ofi_rxm, domain lo, "), std::string::npos) << fits << ": " << found;
    }
    EXPECT_EQ(opening("ofi+tcp;ofi_rxm://?subnet=126.0.0.0/8"), Errc::unsupported);
}

TEST(ProviderTable, ASubnetMayBeIPv6) {
    EXPECT_EQ(opening("ofi+tcp;ofi_rxm://?subnet=::2/128"), Errc::unsupported);
    if (std::ifstream addresses("/proc/net/if_inet6"); addresses.peek() == std::ifstream::traits_type::eof()) {
        GTEST_SKIP() << "there is no IPv6 here";
    }
    for (const char* subnet : {"::1/128", "::/125"}) {
        const std::string found = diagnosis_of("ofi+tcp;ofi_rxm://?subnet=" + std::string(subnet));
        EXPECT_NE(found.find("[::1]"), std::string::npos) << found;
    }
}

TEST(ProviderTable, BusyPollingNeedsNoDescriptor) {
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

// A killed process leaves shared memory behind that is named after its process id, which this process may have been
// given.
TEST(ProviderTable, LeftoversOfAnEarlierProcessAreSkipped) {
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

TEST(ProviderTable, AShortSchemeMeansTheProviderWithItsLayer) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto opened = registry.open("ofi+tcp://127.0.0.1:0", {});
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE((*opened)->scheme() == "ofi+tcp;ofi_rxm" || (*opened)->scheme() == "ofi+tcp");
    EXPECT_TRUE((*opened)->reaches("ofi+tcp://10.0.0.1:5"));
    EXPECT_FALSE((*opened)->reaches("ofi+net://10.0.0.1:5"));
    EXPECT_FALSE((*opened)->reaches("tcp://10.0.0.1:5"));
    // The diagnosis names the choice and the alternatives.
    EXPECT_NE((*opened)->diagnosis().find("domain lo"), std::string::npos) << (*opened)->diagnosis();
}

}  // namespace
}  // namespace cinnabar::ofi
