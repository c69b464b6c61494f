// SPDX-License-Identifier: BSD-3-Clause
// One opened transport with one context, for the figures below rpc. Throws std::runtime_error (or BadResult).
#pragma once

#include <cinnabar/na/context.hpp>

#include <memory>
#include <string>

namespace cinnabar::bench {

// A listener on a free port of the loopback, or a transport that only dials.
[[nodiscard]] std::shared_ptr<na::Transport> open_tcp(bool listen);

class Endpoint {
  public:
    explicit Endpoint(bool listen);

    [[nodiscard]] na::Context& context() noexcept { return *context_; }
    [[nodiscard]] const std::shared_ptr<na::Transport>& transport() const noexcept { return transport_; }
    [[nodiscard]] std::string address() const { return transport_->endpoints().at(0); }

  private:
    // Nothing sends messages here.
    struct Deaf final : na::Receiver {
        void on_unexpected(na::Arrival&) noexcept override {}
        void on_expected(na::Arrival&) noexcept override {}
        void on_notify(na::Peer&, std::uint32_t) noexcept override {}
        void on_peer(na::Peer&, na::PeerEvent, Errc) noexcept override {}
    };

    Deaf receiver_;
    std::shared_ptr<na::Transport> transport_;
    std::unique_ptr<na::Context> context_;
};

}  // namespace cinnabar::bench
