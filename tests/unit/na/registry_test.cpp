// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <gtest/gtest.h>

namespace cinnabar::na {
namespace {

Result<std::unique_ptr<Transport>> refuse(const Uri& uri, const TransportOptions&) {
    return Error(Errc::address_in_use, "test", uri.to_string());
}

TEST(Registry, KnowsWhatWasAddedToIt) {
    Registry registry;
    EXPECT_TRUE(registry.add({plugin_abi, "one", "first", &refuse}).ok());
    EXPECT_TRUE(registry.add({plugin_abi, "two", "second", &refuse}).ok());
    EXPECT_EQ(registry.add({plugin_abi, "one", "again", &refuse}).code(), Errc::exists);
    ASSERT_EQ(registry.plugins().size(), 2u);
    EXPECT_EQ(registry.plugins()[0].description, "first");
}

TEST(Registry, RefusesAnotherAbiAndAnIncompletePlugin) {
    Registry registry;
    EXPECT_EQ(registry.add({plugin_abi + 1, "one", "", &refuse}).code(), Errc::unsupported);
    EXPECT_EQ(registry.add({plugin_abi, "one", "", nullptr}).code(), Errc::unsupported);
    EXPECT_EQ(registry.add({plugin_abi, "", "", &refuse}).code(), Errc::unsupported);
    EXPECT_TRUE(registry.plugins().empty());
}

TEST(Registry, OpensByScheme) {
    Registry registry;
    ASSERT_TRUE(registry.add({plugin_abi, "one", "first", &refuse}).ok());
    const auto opened = registry.open("one://host:5/path", {});
    EXPECT_EQ(opened.code(), Errc::address_in_use);
    EXPECT_EQ(opened.error().subject, "one://host:5/path");
    EXPECT_EQ(registry.open("not an address", {}).code(), Errc::bad_address);
}

TEST(Registry, RefusesOptionsThatThePluginDoesNotName) {
    Registry registry;
    ASSERT_TRUE(registry.add({plugin_abi, "one", "first", &refuse, "copy, group"}).ok());
    ASSERT_TRUE(registry.add({plugin_abi, "two", "second", &refuse}).ok());
    EXPECT_EQ(registry.open("one://host?copy=1&group=2&context=3", {}).code(), Errc::address_in_use);
    for (const char* address : {"one://host?cop=1", "one://host?group,=1", "one://host?copy&x", "two://host?copy=1"}) {
        EXPECT_EQ(registry.open(address, {}).code(), Errc::bad_address) << address;
    }
    const std::string message = registry.open("one://host?bogus=1", {}).error().message();
    EXPECT_NE(message.find("bogus"), message.npos) << message;
    EXPECT_NE(message.find("copy, group"), message.npos) << message;
}

TEST(Registry, RefusesLimitsOfNothing) {
    Registry registry;
    add_builtin(registry);
    const auto code = [&](const TransportOptions& options) { return registry.open("self://", options).code(); };
    EXPECT_EQ(code({.message_bytes_max = message_bytes_min - 1}), Errc::invalid_argument);
    EXPECT_EQ(code({.receive_slots = 0}), Errc::invalid_argument);
    EXPECT_EQ(code({.contexts_max = 0}), Errc::invalid_argument);
    EXPECT_EQ(code({.connections_max = 0}), Errc::invalid_argument);
    EXPECT_EQ(code({.send_slots_max = 0}), Errc::invalid_argument);
    EXPECT_EQ(code({}), Errc::ok);
}

TEST(Registry, AnUnknownSchemeNamesTheKnownOnes) {
    Registry registry;
    add_builtin(registry);
    const auto opened = registry.open("carrier-pigeon://loft", {});
    EXPECT_EQ(opened.code(), Errc::unsupported);
    EXPECT_NE(opened.error().message().find("carrier-pigeon"), std::string::npos);
    EXPECT_NE(opened.error().message().find("self"), std::string::npos);
}

TEST(Registry, BuiltinPluginsOpen) {
    Registry registry;
    add_builtin(registry);
    EXPECT_TRUE(registry.open("self://", {}).ok());
    EXPECT_TRUE(registry.open("sim://alone?world=77", {}).ok());
    EXPECT_EQ(registry.open("sim://", {}).code(), Errc::bad_address);
    EXPECT_EQ(registry.open("sim://x?profile=unheard-of", {}).code(), Errc::bad_address);
    EXPECT_EQ(registry.open("sim://x?world=many", {}).code(), Errc::bad_address);
}

}  // namespace
}  // namespace cinnabar::na
