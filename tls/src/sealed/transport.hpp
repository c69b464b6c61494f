// SPDX-License-Identifier: BSD-3-Clause
// A transport that sends only sealed messages, over another transport. A sealed transport has its own registrations and
// leases: the transport below lends no memory. Any thread.
#pragma once

#include "renewal.hpp"
#include "sealed/self_dial_numbers.hpp"

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/plugin.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tls {

class SealedPort;

class SealedTransport final : public na::SessionTransport {
  public:
    // `scheme`: static storage. The other arguments as for open_sealed().
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options,
                                                                     const char* scheme, const na::PluginInfo& below);
    ~SealedTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return scheme_; }
    [[nodiscard]] std::vector<std::string> endpoints() const override { return endpoints_; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] TimeSource* clock() noexcept override { return below_->clock(); }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override { return leases_.grant(lease); }
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override { leases_.confine(lease, peer); }
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override {
        return na::LeaseKey::wire_bytes;
    }
    [[nodiscard]] std::string diagnosis() const override;

    // Used by the ports.
    [[nodiscard]] na::Transport& below() const noexcept { return *below_; }
    [[nodiscard]] std::size_t below_message_bytes_max() const noexcept { return below_->limits().message_bytes_max; }
    [[nodiscard]] const RenewedGuards* guards() const noexcept { return guards_.get(); }
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] na::PortTable<SealedPort>& ports() noexcept { return ports_; }
    [[nodiscard]] SelfDialNumbers& self_dial_numbers() noexcept { return self_dial_numbers_; }
    // Converts an address to one of the transport below. unreachable: the address has no endpoint of this transport.
    [[nodiscard]] Result<na::Addr> below_of(const na::Addr& addr) const;
    // Returns a random number for a dial of that address. If the address means this process, the number is added to
    // self_dial_numbers().
    [[nodiscard]] std::uint64_t number_of_dial(const na::Addr& addr) noexcept;

  private:
    SealedTransport(const na::TransportOptions& options, const char* scheme, std::string_view scheme_below,
                    std::unique_ptr<na::Transport> below, std::unique_ptr<RenewedGuards> guards);
    // The same endpoint with the scheme of the transport below; empty: it is an endpoint of another transport.
    [[nodiscard]] std::string below_of(std::string_view endpoint) const;
    // Whether a dial of this address means this process: all of its endpoints that this transport reaches are this
    // transport's own.
    [[nodiscard]] bool is_own(const na::Addr& addr) const noexcept;
    static void renewed(void* self);

    const std::string_view scheme_;
    const std::string_view scheme_below_;
    const std::unique_ptr<na::Transport> below_;
    const std::unique_ptr<RenewedGuards> guards_;
    std::vector<std::string> endpoints_;
    na::LeaseTable leases_{leases_max};
    SelfDialNumbers self_dial_numbers_;
    na::PortTable<SealedPort> ports_;
};

}  // namespace cinnabar::tls
