// SPDX-License-Identifier: BSD-3-Clause
// Selects the provider, domain and interface of this machine that an address asks for. For set-up; any thread.
#pragma once

#include "libfabric.hpp"
#include "provider_table.hpp"

#include <cinnabar/na/uri.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::ofi {

// Chunks of staging memory for this side's operations, and as many for those of peers.
inline constexpr std::uint32_t staging_default = 2048;

// The provider, device and socket that an address asks for.
struct Wanted {
    const na::Uri* uri = nullptr;
    std::string interface;  // a host, its address or an interface's name; empty: any
    std::string domain;     // libfabric's name of a device; empty: any
    std::string subnet;     // "10.1.0.0/16", "fd00:1::/32"; empty: any
    bool busy = false;      // always poll: no descriptor to sleep on
    bool untested = false;  // untested providers may be used
    std::uint32_t staging = staging_default;
};

// Reads ofi+PROVIDER://[INTERFACE[:PORT]][?OPTIONS] or ofi+PROVIDER://DOMAIN/INTERFACE[:PORT]; also with ofis instead
// of ofi. Reads these options and ignores others: domain, interface, subnet, busy=yes, untested=yes, staging=N.
// bad_address: an invalid value.
[[nodiscard]] Result<Wanted> read_address(const na::Uri& uri);

// Where the socket for handshakes listens, as a uri.
[[nodiscard]] Result<na::Uri> handshake_address(const Wanted& wanted);

struct Selection {
    Info info;
    const Provider* provider = nullptr;
    bool wait_fd = true;  // the queue has a descriptor to sleep on
    std::string why;      // what was selected, and from how many candidates; one line
    std::uint32_t staging = staging_default;
};

// bad_address: an unknown provider; unsupported: libfabric has nothing that fits.
[[nodiscard]] Result<Selection> select(const Wanted& wanted);

// Lists the providers of the table: which of them this machine has, and which are untested. One line.
[[nodiscard]] std::string survey();

}  // namespace cinnabar::ofi
