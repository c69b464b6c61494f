// SPDX-License-Identifier: BSD-3-Clause
// A table of what the plugin must know about each libfabric provider. No other code depends on which provider is used.
#pragma once

#include <cinnabar/na/uri.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cinnabar::ofi {

enum class Standing : std::uint8_t {
    tested,    // run by the project's tests
    untested,  // taken from its documentation or sources; never run with this plugin
};

// An environment variable of libfabric, set before libfabric is first used unless the environment has it already.
struct Setting {
    const char* variable;
    const char* value;
    long at_least = 0;  // a value from the environment must not be lower
};

struct Provider {
    const char* name;         // libfabric's name
    std::string_view scheme;  // of its addresses
    std::string_view alias;   // a shorter scheme, if libfabric has no provider of exactly that name
    Standing standing = Standing::tested;
    bool on_request = false;      // only used if the address has ?untested=yes
    bool ip = true;               // its addresses are IP addresses
    bool same_host_only = false;  // reaches only processes of this host
    bool trusted_only = false;    // whoever reaches its port can end the process; "ofi" never means it
    bool wait_fd = true;          // its queue has a descriptor to sleep on
    bool own_progress = false;    // it has threads that move data; other providers move data only while polled
    // The provider may never complete a send to a peer that is gone. So transfers use staging memory instead of the
    // user's, and each send asks for a completion, because only a completion reports a failure.
    bool lingers = false;
    bool returns_sends = false;  // gives back sends to a peer as soon as the peer is gone
    bool tells_source = false;   // reports the address of a message's sender: FI_SOURCE
    bool maps_names = false;     // its addresses name shared memory, which is mapped when the address is inserted
    bool tags_messages = false;  // messages are sent tagged as well, which is faster with this provider
    std::size_t chunk_bytes = 256 * 1024;  // of one chunk of a transfer
    std::uint32_t receives = 256;          // receives posted per endpoint
    std::span<const Setting> settings;
    std::string_view note;  // shown to users
};

[[nodiscard]] std::span<const Provider> providers() noexcept;

// Whether the sessions of that scheme ("ofis+tcp", as opposed to "ofi+tcp") are protected.
[[nodiscard]] constexpr bool is_guarded(std::string_view scheme) noexcept { return na::family_of(scheme) == "ofis"; }
// The scheme of a provider's addresses whose sessions are protected.
[[nodiscard]] std::string_view guarded_scheme(const Provider& provider) noexcept;

// Whether an address of that scheme ("ofi+tcp", "ofis+tcp") means this provider. "ofi" and "ofis" mean any provider
// that is tested, is not off by default (on_request), reaches other hosts, and cannot be crashed by strangers.
[[nodiscard]] inline bool means(std::string_view scheme, const Provider& provider) noexcept {
    const std::string_view family = na::family_of(scheme);
    if (family != "ofi" && family != "ofis") return false;
    if (family == scheme) {
        return provider.standing == Standing::tested && !provider.on_request && !provider.same_host_only &&
               !provider.trusted_only;
    }
    const auto is = [name = scheme.substr(family.size())](std::string_view known) {
        return !known.empty() && known.substr(na::family_of(known).size()) == name;
    };
    return is(provider.scheme) || is(provider.alias);
}

// Sets the environment variables of all providers, once.
void apply_settings() noexcept;

// The setting of a provider whose value in the environment is too low; null: there is none.
[[nodiscard]] const Setting* setting_too_low(const Provider& provider) noexcept;

}  // namespace cinnabar::ofi
