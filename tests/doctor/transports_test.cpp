// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/transports.hpp"

#include "unit/bulk/fake_transport.hpp"

#include <cinnabar/plugins/builtin.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

namespace cinnabar::tools::doctor {
namespace {

na::PluginInfo closed_plugin(std::string_view scheme) {
    na::PluginInfo plugin;
    plugin.scheme = scheme;
    plugin.description = "a test's";
    plugin.open = [](const na::Uri&, const na::TransportOptions&) -> Result<std::unique_ptr<na::Transport>> {
        return Error{Errc::permission, "the device may not be opened"};
    };
    return plugin;
}

Severity severity_of(const Findings& found, std::string_view id) {
    const auto* const finding = found.find(id);
    EXPECT_NE(finding, nullptr) << id;
    return finding ? finding->severity : Severity::good;
}

TEST(DoctorTransports, ThoseOfThisBuildOpen) {
    na::Registry registry;
    add_builtin(registry);
    Findings found;
    check_transports(registry, false, found);
    EXPECT_EQ(severity_of(found, "transport-tcp"), Severity::good);
    EXPECT_EQ(found.find("transports"), nullptr);
}

TEST(DoctorTransports, OneThatDoesNotOpenIsAProblem) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(closed_plugin("tcp")));
    Findings found;
    check_transports(registry, false, found);
    EXPECT_EQ(severity_of(found, "transport-tcp"), Severity::problem);
    EXPECT_EQ(found.find("transport-tcp")->exit, ExitCode::permission);
    EXPECT_EQ(severity_of(found, "transports"), Severity::problem);
    EXPECT_EQ(found.find("transports")->exit, ExitCode::unreachable);
}

TEST(DoctorTransports, KeysThatAPeerMayGuessAreWorthAWarning) {
    na::Registry registry;
    na::PluginInfo plugin = closed_plugin("verbs");
    plugin.open = [](const na::Uri&, const na::TransportOptions&) -> Result<std::unique_ptr<na::Transport>> {
        auto made = std::make_unique<bulk::FakeTransport>("verbs");
        made->caps_.guessable_keys = true;
        return std::unique_ptr<na::Transport>(std::move(made));
    };
    ASSERT_TRUE(registry.add(plugin));
    Findings found;
    check_transports(registry, true, found);
    ASSERT_EQ(severity_of(found, "transport-verbs"), Severity::warning);
    EXPECT_NE(found.find("transport-verbs")->remedy.find("trust"), std::string::npos);
}

// What is found if there is only a transport with these abilities.
template <bool confines, bool same_host_only>
Findings found_with() {
    na::Registry registry;
    na::PluginInfo plugin = closed_plugin("verbs");
    plugin.open = [](const na::Uri&, const na::TransportOptions&) -> Result<std::unique_ptr<na::Transport>> {
        auto made = std::make_unique<bulk::FakeTransport>("verbs");
        made->caps_.confines = confines;
        made->caps_.same_host_only = same_host_only;
        return std::unique_ptr<na::Transport>(std::move(made));
    };
    EXPECT_TRUE(registry.add(plugin));
    Findings found;
    check_transports(registry, true, found);
    return found;
}

TEST(DoctorTransports, KeysThatAreValidForEveryConnectionAreWorthANote) {
    const Findings found = found_with<false, false>();
    ASSERT_EQ(severity_of(found, "transport-verbs"), Severity::note);
    EXPECT_NE(found.find("transport-verbs")->what.find("every connected peer"), std::string::npos);
    EXPECT_NE(found.find("transport-verbs")->remedy.find("verbss://, ofis://"), std::string::npos);
    EXPECT_EQ(found.exit(true), ExitCode::ok) << "a trusted fabric is no fault";
    const Findings confining = found_with<true, false>();
    EXPECT_EQ(severity_of(confining, "transport-verbs"), Severity::good);
    const Findings of_one_host = found_with<false, true>();
    EXPECT_EQ(severity_of(of_one_host, "transport-verbs"), Severity::good);
}

// What is found about a transport of that scheme, which is a fake one.
Findings look_at_provider(std::string_view scheme) {
    na::Registry registry;
    na::PluginInfo plugin = closed_plugin(scheme);
    plugin.open = [](const na::Uri& uri, const na::TransportOptions&) -> Result<std::unique_ptr<na::Transport>> {
        return std::unique_ptr<na::Transport>(std::make_unique<bulk::FakeTransport>(uri.scheme));
    };
    EXPECT_TRUE(registry.add(plugin));
    Findings found;
    check_transports(registry, false, found);
    return found;
}

TEST(DoctorTransports, APoorProviderOfLibfabricIsWorthAWarning) {
    for (const std::string_view scheme : {"ofi+sockets", "ofi+udp;ofi_rxd"}) {
        const auto found = look_at_provider(scheme);
        ASSERT_EQ(severity_of(found, "ofi-provider"), Severity::warning);
        EXPECT_NE(found.find("ofi-provider")->what.find(scheme), std::string::npos);
        EXPECT_NE(found.find("ofi-provider")->remedy.find("FI_PROVIDER"), std::string::npos);
        EXPECT_EQ(found.exit(true), ExitCode::unsuitable);
    }
    EXPECT_EQ(look_at_provider("ofi+tcp;ofi_rxm").find("ofi-provider"), nullptr);
}

TEST(DoctorTransports, VerbsIsMissedOnlyWhereThereAreDevices) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(closed_plugin("verbs")));
    Findings without;
    check_transports(registry, false, without);
    EXPECT_EQ(severity_of(without, "transport-verbs"), Severity::note);
    Findings with;
    check_transports(registry, true, with);
    EXPECT_EQ(severity_of(with, "transport-verbs"), Severity::problem);
    const na::Registry none;
    Findings left_out;
    check_transports(none, true, left_out);
    EXPECT_EQ(severity_of(left_out, "transport-verbs"), Severity::warning);
}

}  // namespace
}  // namespace cinnabar::tools::doctor
