// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/registry.hpp>

#include <dlfcn.h>

#include <algorithm>

namespace cinnabar::na {
namespace {

constexpr const char* rebuild_it = "the plugin was built for another version of Cinnabar: rebuild it";

// Whether a list such as "copy, group" contains a name such as "copy".
bool is_listed(std::string_view name, std::string_view list) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        if (one == name) return true;
        list.remove_prefix(std::min(one.size() + 2, list.size()));
    }
    return false;
}

Result<std::unique_ptr<Transport>> open_by(const PluginInfo& plugin, const Uri& uri, const TransportOptions& options) {
    for (const auto& [name, value] : uri.query) {
        if (name == "context" || is_listed(name, plugin.options)) continue;
        std::string detail = name + "; known: " + std::string(plugin.options.empty() ? "none" : plugin.options);
        return Error(Errc::bad_address, "the address has an option that this transport does not know",
                     std::move(detail));
    }
    if (options.message_bytes_max < message_bytes_min) {
        return Error(Errc::invalid_argument, "message_bytes_max must be at least 512");
    }
    if (options.receive_slots == 0 || options.contexts_max == 0 || options.connections_max == 0 ||
        options.send_slots_max == 0) {
        return Error(Errc::invalid_argument, "no limit of a transport may be 0");
    }
    return plugin.open(uri, options);
}

}  // namespace

Result<void> Registry::add(const PluginInfo& plugin) {
    if (plugin.abi != plugin_abi || !plugin.open || plugin.scheme.empty()) {
        return Error(Errc::unsupported, rebuild_it,
                     plugin.abi == plugin_abi ? std::string(plugin.scheme) : std::string());
    }
    for (const PluginInfo& known : plugins_) {
        if (known.scheme == plugin.scheme) {
            return Error(Errc::exists, "a plugin of that scheme is known already", std::string(plugin.scheme));
        }
    }
    plugins_.push_back(plugin);
    return {};
}

Result<void> Registry::load(const std::string& path) {
    void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char* text = ::dlerror();
        return Error(Errc::not_found, "the plugin cannot be loaded", text ? text : path);
    }
    const auto entry = reinterpret_cast<const PluginInfo* (*)()>(::dlsym(object, "cinnabar_plugin"));
    const PluginInfo* info = entry ? entry() : nullptr;
    if (!info) {
        ::dlclose(object);
        return Error(Errc::unsupported,
                     entry ? "the plugin names no PluginInfo: its cinnabar_plugin returns null"
                           : "this is not a plugin: it exports no cinnabar_plugin",
                     path);
    }
    // If the ABI differs, only this number may be read.
    if (info->abi != plugin_abi) {
        ::dlclose(object);
        return Error(Errc::unsupported, rebuild_it, path);
    }
    auto added = add(*info);
    if (!added) ::dlclose(object);
    return added;
}

Result<std::unique_ptr<Transport>> Registry::open(std::string_view text, const TransportOptions& options) const {
    CINNABAR_TRY(Uri uri, Uri::parse(text));
    std::string known;
    // "ofi+tcp" belongs to the plugin "ofi", which interprets the rest of the scheme.
    const std::string_view family = family_of(uri.scheme);
    for (const PluginInfo& plugin : plugins_) {
        if (plugin.scheme == uri.scheme || plugin.scheme == family) return open_by(plugin, uri, options);
        known.append(known.empty() ? "" : ", ").append(plugin.scheme);
    }
    return Error(Errc::unsupported, "no plugin of that scheme; known", uri.scheme + "; " + known);
}

}  // namespace cinnabar::na
