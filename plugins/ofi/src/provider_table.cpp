// SPDX-License-Identifier: BSD-3-Clause
#include "provider_table.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace cinnabar::ofi {
namespace {

// Names in brackets are functions of libfabric 1.17; NAME(7) is its manual page fi_NAME.

// Settings of RxM over tcp.
// EAGER_LIMIT: RxM's rendezvous protocols fail under load. The one that writes identifies transfers by a number that
// each peer counts for itself (rxm_rndv_handle_wr_done), so with several peers transfers never end or end too early;
// the one that reads crashes in fi_close. With this limit every message of the plugin is sent eagerly, straight into
// the buffer that was posted for it (rxm_ep_init_proto, rxm_get_dyn_rbuf). Both sides must have the same limit
// (rxm_verify_connreq), which is read when an endpoint opens.
// TX_SIZE: all peers share the room for sends, 2048 by default, and a few peers that do not read would use that room up
// (rxm_get_tx_buf).
// CM_PROGRESS_INTERVAL: by default RxM looks for new connections every 10 ms, which delays each first call (rxm(7)).
constexpr long largest_message = 1024 * 1024 + 4096;  // a chunk, or a frame with its head
constexpr std::array rxm_settings{
    Setting{"FI_OFI_RXM_EAGER_LIMIT", "2097152", largest_message},
    Setting{"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100"},
    Setting{"FI_OFI_RXM_TX_SIZE", "16384"},
};

// Over verbs, RxM does not receive straight into the posted buffer, and ignores EAGER_LIMIT (rxm_ep_init_proto). RxM
// sends messages of up to SAR_LIMIT, 128 KiB by default, in segments; the receiver reads larger messages, by the
// rendezvous protocol that crashes. With this limit, all messages are sent in segments.
constexpr std::array rxm_verbs_settings{
    rxm_settings[0],
    rxm_settings[1],
    rxm_settings[2],
    Setting{"FI_OFI_RXM_SAR_LIMIT", "2097152", largest_message},
};

constexpr std::string_view by_documentation = "entered from libfabric's manual pages; never run with this plugin";

// In the order of preference, for a scheme that means several.
constexpr std::array table{
    // libfabric has this provider from 1.18 on, with the code of `net` below, in prov/tcp (NEWS.md of 1.18.0). Earlier
    // versions of `tcp` support messages only (tcp(7)), so this entry finds nothing there.
    Provider{.name = "tcp",
             .scheme = "ofi+tcp",
             .standing = Standing::untested,
             .returns_sends = true,  // xnet_ep_flush_all_queues
             .note = "native from libfabric 1.18 on, but never run with this plugin; ofi+tcp;ofi_rxm is tested"},
    Provider{.name = "tcp;ofi_rxm",
             .scheme = "ofi+tcp;ofi_rxm",
             .alias = "ofi+tcp",
             .returns_sends = true,       // with an error, when the socket below is closed (tcpx_ep_flush_all_queues)
             .tells_source = true,        // rxm_cq_write_src
             .tags_messages = true,       // received without RxM's head, straight into the buffer (rxm_use_msg_tsend)
             .chunk_bytes = 1024 * 1024,  // see the figure ofi.tcp_rxm.bulk.pull.1m
             .settings = rxm_settings,
             .note = "libfabric 1.17 carries messages over tcp with RxM on top"},
    // NEWS.md of 1.16.0 and 1.18.0.
    Provider{.name = "net",
             .scheme = "ofi+net",
             .returns_sends = true,  // xnet_ep_flush_all_queues
             .tells_source = true,   // ofi_cq_write_src
             .note = "libfabric 1.16 and 1.17 only; later versions call it `tcp`"},
    Provider{.name = "sockets",
             .scheme = "ofi+sockets",
             .own_progress = true,  // otherwise it has no descriptor (sock_cq_control)
             .note = "for development; libfabric does not maintain it"},  // sockets(7)
    Provider{.name = "shm",
             .scheme = "ofi+shm",
             .ip = false,             // FI_ADDR_STR (shm(7))
             .same_host_only = true,  // shm(7)
             .wait_fd = false,        // it has no wait object but yielding (smr_cq_open)
             .maps_names = true,      // smr_map_to_region
             // The provider's locks are in memory that both sides share (smr_ep.c: peer_smr->lock). If two contexts of
             // one process are connected and one of them closes first, the provider crashes;
             // tests/transport/contract.cpp skips that case.
             .note =
                 "has no descriptor to sleep on, so a context with sessions polls every millisecond; must not connect "
                 "two contexts of one process, because it keeps pointers to what the other has closed; a peer that "
                 "is stopped or killed while it holds a lock blocks all that send to it"},
    Provider{.name = "udp;ofi_rxd",
             .scheme = "ofi+udp;ofi_rxd",
             .alias = "ofi+udp",
             // A packet of an unknown peer makes 1.17 follow a null pointer (rxd_handle_ack, rxd_handle_data).
             .trusted_only = true,
             // Only the caller makes progress (rxd(7)), and packets to be retransmitted make nothing readable.
             .wait_fd = false,
             // The provider gives up a send after 50 tries, but never on a machine that has run for less than 25 days
             // (rxd_progress_pkt_list, rxd_get_timeout).
             .lingers = true,
             .chunk_bytes = 64 * 1024,
             .note = "reliability in software over UDP: slow; no descriptor to sleep on; for trusted networks only: "
                     "whoever reaches its UDP port can end the process with one packet"},
    // tests/vm runs the contract and bulk on it over soft-RoCE.
    Provider{.name = "verbs;ofi_rxm",
             .scheme = "ofi+verbs;ofi_rxm",
             .alias = "ofi+verbs",
             .on_request = true,
             .settings = rxm_verbs_settings,
             .note = "tested on soft-RoCE only; the plugin verbs uses such devices directly"},
    // Addresses are not IP addresses: FI_ADDR_CXI (fabric.h of 1.17). Everything else is libfabric's default.
    Provider{.name = "cxi",
             .scheme = "ofi+cxi",
             .alias = {},
             .standing = Standing::untested,
             .on_request = true,
             .ip = false,
             .note = by_documentation},
    // FI_ADDR_EFA (efa_prov_info.c); no wait objects (efa(7)).
    Provider{.name = "efa",
             .scheme = "ofi+efa",
             .alias = {},
             .standing = Standing::untested,
             .on_request = true,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
    // FI_ADDR_OPX (fi_opx_init.c); only the caller makes progress (opx(7)).
    Provider{.name = "opx",
             .scheme = "ofi+opx",
             .alias = {},
             .standing = Standing::untested,
             .on_request = true,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
    // FI_ADDR_PSMX3 (psmx3_init.c); best if only the caller makes progress (psm3(7)).
    Provider{.name = "psm3",
             .scheme = "ofi+psm3",
             .alias = {},
             .standing = Standing::untested,
             .on_request = true,
             .ip = false,
             .wait_fd = false,
             .note = by_documentation},
};

}  // namespace

std::span<const Provider> providers() noexcept { return table; }

std::string_view guarded_scheme(const Provider& provider) noexcept {
    // Never destroyed, because contexts may be closed at exit.
    static const auto* const schemes = [] {
        auto* const made = new std::vector<std::string>;
        for (const Provider& each : table) made->push_back("ofis" + std::string(each.scheme.substr(3)));
        return made;
    }();
    return (*schemes)[static_cast<std::size_t>(&provider - table.data())];
}

void apply_settings() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const Provider& provider : table) {
            for (const Setting& setting : provider.settings) (void)::setenv(setting.variable, setting.value, 0);
        }
    });
}

const Setting* setting_too_low(const Provider& provider) noexcept {
    for (const Setting& setting : provider.settings) {
        const char* const value = std::getenv(setting.variable);
        // Parsed as libfabric parses it (fi_param_get).
        if (setting.at_least > 0 && value && std::strtol(value, nullptr, 0) < setting.at_least) return &setting;
    }
    return nullptr;
}

}  // namespace cinnabar::ofi
