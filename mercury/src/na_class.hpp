// SPDX-License-Identifier: BSD-3-Clause
// An NA class: an open network and the name by which it was opened. An HG class opens an NA class itself, or the user
// passes one to the HG class. Thread-safe.
#pragma once

#include "info_string.hpp"
#include "mercury_core_types.h"
#include "na.h"

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>

struct na_class {
    cinnabar::mercury::InfoString info;
    bool listen = false;
    na_init_info_4_0 options{};
    std::shared_ptr<cinnabar::na::Transport> transport;
    std::atomic<int> addrs{0};  // addresses that were not freed
    std::atomic<int> users{0};  // HG classes that use it

    std::mutex mutex;                  // guards `contexts`
    std::set<std::uint32_t> contexts;  // contexts of all HG classes on this network, by the core's id
};

struct na_addr {
    cinnabar::na::Addr addr;
};

namespace cinnabar::mercury {

// The options for opening a transport: defaults for everything that `options` leaves open.
[[nodiscard]] CINNABAR_API na::TransportOptions transport_options(const na_init_info_4_0& options, bool listen,
                                                                  Microseconds patience);

// Opens the transport of a core address ("shm://name").
[[nodiscard]] CINNABAR_API Result<std::shared_ptr<na::Transport>> open_transport(const std::string& uri,
                                                                                 const na::TransportOptions& options);

// The address on which the transport listens; otherwise the one by which its peers know it.
[[nodiscard]] CINNABAR_API na::Addr self_of(const na::Transport& transport);

// Whether both are the same connection, or addresses of the same context of one process. Never trusts the identity that
// a peer claims.
[[nodiscard]] CINNABAR_API bool same_peer(const na::Addr& one, const na::Addr& other) noexcept;

// An address as text for users: the first endpoint of each network, with the prefix of the class.
[[nodiscard]] CINNABAR_API std::string printed(const na_class& na_class, const na::Addr& addr);

// Copies text to the user; see HG_Addr_to_string.
template <typename Size>
hg_return_t give_text(const std::string& text, char* out, Size* bytes) noexcept {
    const Size room = *bytes;
    *bytes = text.size() + 1;
    if (!out) return HG_SUCCESS;
    if (room < *bytes) return HG_OVERFLOW;
    std::memcpy(out, text.c_str(), text.size() + 1);
    return HG_SUCCESS;
}

}  // namespace cinnabar::mercury
