// SPDX-License-Identifier: BSD-3-Clause
// The plugins that a program knows, by scheme. A registry is made by main, or by hl::Node for main; there is no global
// registry. Not thread-safe while plugins are added.
#pragma once

#include <cinnabar/na/plugin.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::na {

class CINNABAR_API Registry {
  public:
    // exists: a plugin with that scheme was added already. unsupported: built for another ABI.
    [[nodiscard]] Result<void> add(const PluginInfo& plugin);
    // Loads a shared object and adds the plugin that it exports. The shared object stays loaded for the life of the
    // process. not_found; unsupported: no such symbol, or another ABI. The subject holds the loader's text.
    [[nodiscard]] Result<void> load(const std::string& path);

    // Opens a transport by its address string. unsupported: no plugin has that scheme; the subject lists the known
    // ones.
    [[nodiscard]] Result<std::unique_ptr<Transport>> open(std::string_view uri, const TransportOptions& options) const;
    [[nodiscard]] std::span<const PluginInfo> plugins() const noexcept { return plugins_; }

  private:
    std::vector<PluginInfo> plugins_;
};

}  // namespace cinnabar::na
