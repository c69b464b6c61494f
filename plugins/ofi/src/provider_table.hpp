// SPDX-License-Identifier: BSD-3-Clause
// All that is known of each provider, as data. Nothing else in this plugin asks which provider it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cinnabar::ofi {

enum class Standing : std::uint8_t {
    tested,    // runs in the project's own tests
    untested,  // declared from its documentation: nobody has run it with this plugin; only on request
};

// A variable of libfabric that is set, unless the environment has it already, before libfabric is first asked.
struct Setting {
    std::string_view variable;
    std::string_view value;
};

struct Provider {
    std::string_view uri;   // behind "ofi+" in addresses
    std::string_view name;  // libfabric's own
    Standing standing = Standing::tested;
    bool same_host_only = false;  // reaches processes of this host only
    bool ip = true;               // its own addresses are IP: the interface of the address chooses the domain
    bool wait_fd = true;          // its queue has a descriptor that wakes a sleeper reliably
    bool multi_receive = false;   // many messages in one posted buffer work
    bool cancels_receives = true;
    bool loses_big_messages = false;  // of several peers at once: transfers go in messages of `chunk_bytes`, one each
    std::size_t chunk_bytes = 256 * 1024;  // of a transfer: one message of the fabric
    std::uint32_t receives = 256;          // receive buffers posted at once, without multi-receive
    std::span<const Setting> settings;
    std::string_view note;  // what a user should know; shown by `cinnabar info -v`
};

[[nodiscard]] std::span<const Provider> providers() noexcept;

// The row that "ofi+NAME" means; null when there is none.
[[nodiscard]] const Provider* find_provider(std::string_view uri_name) noexcept;

}  // namespace cinnabar::ofi
