// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <array>

namespace cinnabar::bench {

std::shared_ptr<na::Transport> open_wire(Wire wire, bool listen) {
    na::Registry registry;
    add_builtin(registry);
    na::TransportOptions options;
    options.listen = listen;
    if (wire == Wire::shm) return registry.open("shm://", options).value();
    return registry.open(listen ? "tcp://127.0.0.1:0" : "tcp://", options).value();
}

Endpoint::Endpoint(Wire wire, bool listen) : transport_(open_wire(wire, listen)) {
    const std::array<na::Transport*, 1> transports{transport_.get()};
    context_ = na::Context::open(transports, na::ContextOptions{}, receiver_).value();
}

}  // namespace cinnabar::bench
