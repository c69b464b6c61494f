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
#include <cinnabar/na/session/own_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
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
    [[nodiscard]] na::OwnDials& own_dials() noexcept { return own_dials_; }
    // A frame came that names no session: late, or a guess. diagnosis() tells how many.
    void count_stray() noexcept { strays_.fetch_add(1, std::memory_order_relaxed); }
    void port_closed(const OfiPort& port, na::ContextId context) noexcept;
    // Moves a caller to the port of the context that it means, in whatever thread that lives. unreachable: there is
    // none; overloaded: as many wait there as may. Then it is as it was.
    [[nodiscard]] Errc hand_over(Caller& caller) noexcept;

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
    std::optional<na::SocketAddress> source_;
    std::vector<std::string> endpoints_;
    na::OwnDials own_dials_;
    std::atomic<std::uint64_t> strays_{0};
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, OfiPort*> ports_;
};

}  // namespace cinnabar::ofi
