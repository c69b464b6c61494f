// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network: the listening socket, the leases, and which context has which port. Any thread.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
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

// A socket whose Hello names another context than the one that accepted it.
struct Handover {
    UniqueFd fd;
    na::Hello hello;
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
    void port_closed(const TcpPort& port, na::ContextId context) noexcept;
    // Moves a socket to the port of its hello's context, in whatever thread that lives; false when there is none.
    [[nodiscard]] bool hand_over(UniqueFd& fd, const na::Hello& hello) noexcept;

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
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, TcpPort*> ports_;
};

}  // namespace cinnabar::tcp
