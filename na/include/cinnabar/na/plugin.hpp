// SPDX-License-Identifier: BSD-3-Clause
// What a plugin exports, linked in or loaded: one PluginInfo. A loaded plugin is a shared object with the C symbol
// `cinnabar_plugin`; the same source file serves both (CINNABAR_PLUGIN).
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::na {

// Changes whenever anything in na's headers that a plugin sees changes its layout or meaning.
inline constexpr std::uint32_t plugin_abi = 11;

struct PluginInfo {
    std::uint32_t abi = plugin_abi;
    std::string_view scheme;       // "tcp"; static storage
    std::string_view description;  // one line; static storage
    // Opens the network. The uri's scheme is this plugin's, and it has no options but those below; no limit is 0.
    // bad_address, address_in_use, unreachable, unsupported (the machine lacks what it needs; the hint says what).
    Result<std::unique_ptr<Transport>> (*open)(const Uri& uri, const TransportOptions& options) = nullptr;
    std::string_view options = {};  // that may stand behind '?' in an address: "copy, group"; static storage
};

}  // namespace cinnabar::na

// Put this once in a plugin's plugin.cpp. Built as a loadable object, it exports the symbol that the loader looks for.
#ifdef CINNABAR_PLUGIN_LOADABLE
#define CINNABAR_PLUGIN(info) \
    extern "C" CINNABAR_API const ::cinnabar::na::PluginInfo* cinnabar_plugin() { return &(info); }
#else
#define CINNABAR_PLUGIN(info)
#endif
