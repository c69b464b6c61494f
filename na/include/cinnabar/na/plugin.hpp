// SPDX-License-Identifier: BSD-3-Clause
// The export of a plugin, whether linked in or loaded: one PluginInfo. A loadable plugin is a shared object with the C
// symbol `cinnabar_plugin`; the same source file serves both (CINNABAR_PLUGIN).
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::na {

// Incremented by each change of layout or meaning in the headers of na that plugins use.
inline constexpr std::uint32_t plugin_abi = 22;

struct PluginInfo {
    std::uint32_t abi = plugin_abi;
    std::string_view scheme;       // "tcp"; static storage
    std::string_view description;  // one line; static storage
    // Opens the network. Requires: the uri has this plugin's scheme and only options from the list below; no limit in
    // `options` is 0. bad_address, address_in_use, unreachable, unsupported (the machine lacks what the plugin needs;
    // the hint says what).
    Result<std::unique_ptr<Transport>> (*open)(const Uri& uri, const TransportOptions& options) = nullptr;
    std::string_view options = {};  // names allowed after '?' in an address: "copy, group"; static storage
};

}  // namespace cinnabar::na

// Put this once in a plugin's plugin.cpp. In a loadable build it exports the symbol that the loader looks for.
#ifdef CINNABAR_PLUGIN_LOADABLE
#define CINNABAR_PLUGIN(info) \
    extern "C" CINNABAR_API const ::cinnabar::na::PluginInfo* cinnabar_plugin() { return &(info); }
#else
#define CINNABAR_PLUGIN(info)
#endif
