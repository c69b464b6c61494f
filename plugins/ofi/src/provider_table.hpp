// SPDX-License-Identifier: BSD-3-Clause
// All that is known of each provider, as data. Nothing else in this plugin asks which provider it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cinnabar::ofi {

enum class Standing : std::uint8_t {
    tested,    // run by the project's own tests
    untested,  // declared from its documentation or sources: nobody has run it with this plugin
};

// A variable of libfabric that is set, unless the environment has it already, before libfabric is first asked.
struct Setting {
    const char* variable;
    const char* value;
    long at_least = 0;  // what is there already must not be below this
};

struct Provider {
    const char* name;         // libfabric's own
    std::string_view scheme;  // of its addresses
    std::string_view alias;   // a shorter scheme that means it where libfabric has nothing of that very name
    Standing standing = Standing::tested;
    bool on_request = false;               // off until the address has ?untested=yes
    bool ip = true;                        // its addresses are those of IP interfaces
    bool same_host_only = false;           // reaches processes of this host only
    bool wait_fd = true;                   // its queue has a descriptor to sleep on
    bool own_progress = false;             // moves data by threads of its own; else only when it is asked
    bool lingers = false;                  // keeps what was sent to a peer that is gone: transfers by way of staging
    bool returns_sends = false;            // gives back what was sent to a peer as soon as that is gone
    bool tells_source = false;             // a message's sender is known by its address: FI_SOURCE
    bool maps_names = false;               // an address names memory of its endpoint, which is mapped when inserted
    bool tags_messages = false;            // messages are tagged too: that is faster there
    std::size_t chunk_bytes = 256 * 1024;  // of a transfer: what goes in one message of the fabric
    std::uint32_t receives = 256;          // receive buffers that are posted
    std::span<const Setting> settings;
    std::string_view note;  // what a user should know of it
};

[[nodiscard]] std::span<const Provider> providers() noexcept;

// Whether an address of that scheme ("ofi+tcp") means this provider; "ofi" means any that is tested between hosts.
[[nodiscard]] inline bool means(std::string_view scheme, const Provider& provider) noexcept {
    if (scheme == "ofi") {
        return provider.standing == Standing::tested && !provider.on_request && !provider.same_host_only;
    }
    return scheme == provider.scheme || scheme == provider.alias;
}

// Gives every provider's settings to the environment, once.
void apply_settings() noexcept;

// The setting of a provider that the environment has lower than the plugin can live with; null: there is none.
[[nodiscard]] const Setting* setting_too_low(const Provider& provider) noexcept;

}  // namespace cinnabar::ofi
