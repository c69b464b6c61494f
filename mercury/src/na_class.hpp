// SPDX-License-Identifier: BSD-3-Clause
// An opened network under the name that Mercury's programs gave it. HG classes open one, or are given one. Any thread.
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
    std::atomic<int> addrs{0};  // not freed
    std::atomic<int> users{0};  // HG classes

    std::mutex mutex;                  // of `contexts`
    std::set<std::uint32_t> contexts;  // of all HG classes that are open on it, by the id of the core
};

struct na_addr {
    cinnabar::na::Addr addr;
};

namespace cinnabar::mercury {

// What a transport is opened with: the defaults where the options say nothing.
[[nodiscard]] CINNABAR_API na::TransportOptions transport_options(const na_init_info_4_0& options, bool listen,
                                                                  Microseconds patience);

// Opens the transport of a core address ("shm://name").
[[nodiscard]] CINNABAR_API Result<std::shared_ptr<na::Transport>> open_transport(const std::string& uri,
                                                                                 const na::TransportOptions& options);

// Where it listens; else what its peers know it by.
[[nodiscard]] CINNABAR_API na::Addr self_of(const na::Transport& transport);

// Whether both are the same connection, or names of the same context of one process. Nothing that a peer claims to be
// makes its connection the same as something else.
[[nodiscard]] CINNABAR_API bool same_peer(const na::Addr& one, const na::Addr& other) noexcept;

// As users read it: the first endpoint of each network, in the class's own spelling.
[[nodiscard]] CINNABAR_API std::string printed(const na_class& na_class, const na::Addr& addr);

// As HG_Addr_to_string.
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
