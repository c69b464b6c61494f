// SPDX-License-Identifier: BSD-3-Clause
// One `self` network: the contexts of one process that were opened on it. Any thread.
#pragma once

#include "mailbox.hpp"

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cinnabar::self_ {

class SelfTransport final : public na::Transport {
  public:
    explicit SelfTransport(const na::TransportOptions& options);

    [[nodiscard]] std::string_view scheme() const noexcept override { return "self"; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return incarnation_; }
    // Always one: contexts of a process find each other without listening.
    [[nodiscard]] std::vector<std::string> endpoints() const override { return {endpoint_}; }
    // "self://" alone means this one too.
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
    [[nodiscard]] std::string diagnosis() const override { return "memory of this process"; }

    // For the ports.
    [[nodiscard]] std::shared_ptr<Mailbox> find(na::ContextId context);
    void close_port(na::ContextId context);
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] na::Addr addr_of(na::ContextId context) const;
    // Connections are numbered in the order in which they were dialled.
    [[nodiscard]] std::uint64_t next_connection() noexcept {
        return next_connection_.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    const na::TransportOptions options_;
    na::Caps caps_;
    na::Limits limits_;
    const na::Incarnation incarnation_;
    const std::string endpoint_;
    na::LeaseTable leases_;
    std::atomic<std::uint64_t> next_connection_{1};
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);
    std::mutex mutex_;  // guards mailboxes_
    std::vector<std::shared_ptr<Mailbox>> mailboxes_;
};

}  // namespace cinnabar::self_
