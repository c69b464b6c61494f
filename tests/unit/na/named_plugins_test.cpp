// SPDX-License-Identifier: BSD-3-Clause
// Plugins that the environment names, in addition to the built-in ones.
#include <cinnabar/base/log.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/plugins/self.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace cinnabar::na {
namespace {

class NamedPlugins : public testing::Test {
  protected:
    NamedPlugins() {
        set_log_sink([](const LogLine& line, void* user) { static_cast<std::string*>(user)->append(line.text); },
                     &said_);
    }
    ~NamedPlugins() override {
        set_log_sink(nullptr, nullptr);
        ::unsetenv("CINNABAR_PLUGINS");
    }
    // The open function of the plugin for `self://` if the variable is set to `named`.
    auto opener(const char* named) {
        ::setenv("CINNABAR_PLUGINS", named, 1);
        Registry registry;
        add_builtin(registry);
        const auto plugins = registry.plugins();
        EXPECT_GT(plugins.size(), 1u);
        const auto is_self = [](const PluginInfo& plugin) { return plugin.scheme == "self"; };
        EXPECT_EQ(std::count_if(plugins.begin(), plugins.end(), is_self), 1);
        EXPECT_TRUE(registry.open("self://", {}).ok());
        return std::find_if(plugins.begin(), plugins.end(), is_self)->open;
    }
    std::string said_;
};

TEST_F(NamedPlugins, ArePreferredToThoseThatAreCompiledIn) {
    EXPECT_EQ(opener(""), self_::plugin_info.open);
    EXPECT_NE(opener(LOADABLE_SELF), self_::plugin_info.open);
    EXPECT_NE(opener(":" LOADABLE_SELF ":"), self_::plugin_info.open);
    EXPECT_EQ(said_, "");
}

TEST_F(NamedPlugins, PluginsThatCannotBeLoadedAreReportedAndSkipped) {
    EXPECT_NE(opener("/nowhere/plugin.so:" LOADABLE_SELF), self_::plugin_info.open);
    EXPECT_NE(said_.find("CINNABAR_PLUGINS: not found"), std::string::npos) << said_;
    EXPECT_NE(said_.find("/nowhere/plugin.so"), std::string::npos) << said_;
}

}  // namespace
}  // namespace cinnabar::na
