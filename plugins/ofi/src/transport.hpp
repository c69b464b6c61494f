// SPDX-License-Identifier: BSD-3-Clause
// One opened fabric: what was selected, the socket at which peers meet, the leases, and which context has which port.
// Any thread.
#pragma once

#include "card.hpp"
#include "fences.hpp"
#include "selection.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace cinnabar::ofi {

class Endpoint;
class OfiPort;

// A socket that came in, and what it said.
struct Caller {
    UniqueFd fd;
    Card card;
};

class OfiTransport final : public na::Transport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~OfiTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return provider().scheme; }
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
    [[nodiscard]] const Provider& provider() const noexcept { return *selection_.provider; }
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] Fences& fences() noexcept { return fences_; }
    // What outgoing sockets are bound to; null: whatever the kernel picks.
    [[nodiscard]] const na::SocketAddress* source() const noexcept { return source_ ? &*source_ : nullptr; }
    [[nodiscard]] int listener() const noexcept { return listener_.get(); }
    [[nodiscard]] std::uint16_t listens_at() const noexcept { return listens_at_; }
    void port_closed(const OfiPort& port, na::ContextId context) noexcept;
    // It could not be closed: it stays for as long as the process, and the fabric with it.
    void leave(std::unique_ptr<Endpoint> endpoint) noexcept;
    // Moves a caller to the port of its hello's context, in whatever thread that lives; false when there is none.
    [[nodiscard]] bool hand_over(Caller& caller) noexcept;

  private:
    OfiTransport(const na::TransportOptions& options, Selection selection);

    const na::TransportOptions options_;
    const na::Incarnation incarnation_;
    Selection selection_;
    Fid<fid_fabric> fabric_;
    na::Caps caps_;
    na::Limits limits_;
    na::LeaseTable leases_;
    Fences fences_{leases_};
    UniqueFd listener_;
    std::uint16_t listens_at_ = 0;
    std::optional<na::SocketAddress> source_;
    std::vector<std::string> endpoints_;
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, OfiPort*> ports_;
    bool left_endpoints_ = false;
};

}  // namespace cinnabar::ofi
