// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include "secrets.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <array>

namespace cinnabar::bench {
namespace {

const char* place_of(Wire wire, bool listen) noexcept {
    switch (wire) {
        case Wire::tcps:
            return listen ? "tcps://127.0.0.1:0" : "tcps://";
        case Wire::shm:
            return "shm://";
        case Wire::ofi_tcp_rxm:
            return "ofi+tcp;ofi_rxm://127.0.0.1:0?busy=yes";
        case Wire::ofis_tcp_rxm:
            return "ofis+tcp;ofi_rxm://127.0.0.1:0?busy=yes";
        case Wire::ofi_shm:
            return "ofi+shm://127.0.0.1:0";
        case Wire::verbs_rxe:
            return listen ? "verbs://10.81.0.2:0" : "verbs://10.81.0.1:0";
        case Wire::verbs_siw:
            return listen ? "verbs://10.82.0.2:0" : "verbs://10.82.0.1:0";
        default:
            return listen ? "tcp://127.0.0.1:0" : "tcp://";
    }
}

}  // namespace

std::shared_ptr<na::Transport> open_wire(Wire wire, bool listen) {
    na::Registry registry;
    add_builtin(registry);
    na::TransportOptions options;
    options.listen = listen;
#ifdef CINNABAR_BENCH_TCPS
    if (wire == Wire::tcps || wire == Wire::ofis_tcp_rxm) options.tls = secrets().key;
#endif
    return registry.open(place_of(wire, listen), options).value();
}

Endpoint::Endpoint(Wire wire, bool listen) : transport_(open_wire(wire, listen)) {
    const std::array<na::Transport*, 1> transports{transport_.get()};
    context_ = na::Context::open(transports, na::ContextOptions{}, receiver_).value();
}

}  // namespace cinnabar::bench
