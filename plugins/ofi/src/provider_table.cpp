// SPDX-License-Identifier: BSD-3-Clause
#include "provider_table.hpp"

#include <array>
#include <cstdlib>
#include <mutex>

namespace cinnabar::ofi {
namespace {

// RxM over tcp, as of libfabric 1.17. Its rendezvous protocols fail under load: the one by writes finds what has ended
// by a number that each peer counts for itself (rxm_rndv_handle_wr_done), so that with several peers transfers never
// end or end too early; the one by reads crashes in fi_close. With this limit every message of this plugin goes
// eagerly, straight into the buffer that waits for it (rxm_ep_init_proto, rxm_get_dyn_rbuf). It looks for new
// connections every 10 ms otherwise, which each first call would feel.
constexpr std::array rxm_settings{
    Setting{"FI_OFI_RXM_EAGER_LIMIT", "2097152"},
    Setting{"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100"},
};

constexpr std::string_view by_documentation = "declared from libfabric's manual pages; nobody has run it yet";

// In the order of preference where a scheme means several.
constexpr std::array table{
    // The native reliable datagrams of libfabric 2 (fi_tcp(7)); the code of `net` below.
    Provider{.name = "tcp", .scheme = "ofi+tcp", .returns_sends = true, .note = "native from libfabric 2 on"},
    Provider{.name = "tcp;ofi_rxm",
             .scheme = "ofi+tcp;ofi_rxm",
             .alias = "ofi+tcp",
             .returns_sends = true,  // with an error, when the socket below is closed (tcpx_ep_flush_all_queues)
             .chunk_bytes = 1024 * 1024,
             .settings = rxm_settings,
             .note = "libfabric 1.x carries messages over tcp with RxM on top"},
    Provider{.name = "net", .scheme = "ofi+net", .returns_sends = true, .note = "from libfabric 1.16 to 1.x only"},
    // Has a descriptor only where its own thread makes progress (sock_cq_control).
    Provider{.name = "sockets",
             .scheme = "ofi+sockets",
             .own_progress = true,
             .note = "for development; libfabric does not maintain it"},
    // fi_shm(7): no wait object but yielding (smr_cq_open).
    Provider{.name = "shm",
             .scheme = "ofi+shm",
             .ip = false,
             .same_host_only = true,
             .wait_fd = false,
             .note = "has no descriptor to sleep on: a context that has sessions looks every millisecond; two contexts "
                     "of one process must not meet on it: it keeps a pointer to what the other has closed; a peer that "
                     "is stopped or killed within its locks "
                     "stops whoever sends to it"},
    Provider{.name = "udp;ofi_rxd",
             .scheme = "ofi+udp;ofi_rxd",
             .alias = "ofi+udp",
             .wait_fd = false,
             .lingers = true,  // tries again and again (rxd_ep_progress)
             .chunk_bytes = 64 * 1024,
             .note = "reliability in software over UDP: slow; no descriptor to sleep on"},
    Provider{.name = "verbs;ofi_rxm",
             .scheme = "ofi+verbs;ofi_rxm",
             .alias = "ofi+verbs",
             .standing = Standing::untested,
             .settings = rxm_settings,
             .note = by_documentation},
    Provider{.name = "cxi",
             .scheme = "ofi+cxi",
             .alias = {},
             .standing = Standing::untested,
             .ip = false,
             .note = by_documentation},
    Provider{.name = "efa",
             .scheme = "ofi+efa",
             .alias = {},
             .standing = Standing::untested,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
    Provider{.name = "opx",
             .scheme = "ofi+opx",
             .alias = {},
             .standing = Standing::untested,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
    Provider{.name = "psm3",
             .scheme = "ofi+psm3",
             .alias = {},
             .standing = Standing::untested,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
};

}  // namespace

std::span<const Provider> providers() noexcept { return table; }

void apply_settings() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const Provider& provider : table) {
            for (const Setting& setting : provider.settings) (void)::setenv(setting.variable, setting.value, 0);
        }
    });
}

}  // namespace cinnabar::ofi
