// SPDX-License-Identifier: BSD-3-Clause
// Opened transports, and one of them with a context, for the figures below rpc. Throws std::runtime_error (or
// BadResult).
#pragma once

#include <cinnabar/na/context.hpp>

#include <memory>
#include <string>

namespace cinnabar::bench {

// The network of a figure: sockets on the loopback; the same with TLS and a shared key (secrets.hpp); shared memory;
// both of these through libfabric, tcp also with TLS; or the RDMA devices of the machine of tests/vm.
enum class Wire : std::uint8_t { tcp, tcps, shm, ofi_tcp_rxm, ofis_tcp_rxm, ofi_shm, verbs_rxe, verbs_siw };

// A transport that listens at any free address, or one that only dials.
[[nodiscard]] std::shared_ptr<na::Transport> open_wire(Wire wire, bool listen);

class Endpoint {
  public:
    Endpoint(Wire wire, bool listen);

    [[nodiscard]] na::Context& context() noexcept { return *context_; }
    [[nodiscard]] const std::shared_ptr<na::Transport>& transport() const noexcept { return transport_; }
    [[nodiscard]] std::string address() const { return transport_->endpoints().at(0); }

  private:
    // In these figures no messages are sent.
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
