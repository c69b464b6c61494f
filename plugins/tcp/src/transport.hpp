// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network: the listening socket, the leases, and which context has which port. Any thread.
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
#include <cinnabar/na/session/own_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace cinnabar::tcp {

class TcpPort;
using na::SocketAddress;

// A socket that came in and has greeted.
struct Handover {
    UniqueFd fd;
    Greeting greeting;
};

class TcpTransport final : public na::Transport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~TcpTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "tcp"; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return incarnation_; }
    [[nodiscard]] std::vector<std::string> endpoints() const override { return endpoints_; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override { return leases_.grant(lease); }
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, Writer& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override {
        return na::LeaseKey::wire_bytes;
    }
    [[nodiscard]] std::string diagnosis() const override;

    // For the ports.
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    // What outgoing connections are bound to; null: whatever the kernel picks.
    [[nodiscard]] const SocketAddress* source() const noexcept { return source_ ? &*source_ : nullptr; }
    [[nodiscard]] int listener() const noexcept { return listener_.get(); }
    [[nodiscard]] na::OwnDials& own_dials() noexcept { return own_dials_; }
    void port_closed(const TcpPort& port, na::ContextId context) noexcept;
    // Moves it to the port of the context that it means, in whatever thread that lives. unreachable: there is none;
    // overloaded: as many wait there as may. Then it is as it was.
    [[nodiscard]] Errc hand_over(Handover& newcomer) noexcept;

  private:
    TcpTransport(const na::TransportOptions& options);

    const na::TransportOptions options_;
    const na::Incarnation incarnation_;
    na::Caps caps_;
    na::Limits limits_;
    na::LeaseTable leases_;
    UniqueFd listener_;
    std::optional<SocketAddress> source_;
    std::vector<std::string> endpoints_;
    na::OwnDials own_dials_;
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, TcpPort*> ports_;
};

}  // namespace cinnabar::tcp
