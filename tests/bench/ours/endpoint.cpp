// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include <cinnabar/plugins/builtin.hpp>

#include <array>

namespace cinnabar::bench {

Endpoint::Endpoint(bool listen) {
    plugins::add_builtin(registry_).value();
    na::TransportOptions options;
    options.listen = listen;
    transport_ = registry_.open(listen ? "tcp://127.0.0.1:0" : "tcp://", options).value();
    const std::array<na::Transport*, 1> transports{transport_.get()};
    context_ = na::Context::open(transports, na::ContextOptions{}, receiver_).value();
}

}  // namespace cinnabar::bench
