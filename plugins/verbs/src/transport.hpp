// SPDX-License-Identifier: BSD-3-Clause
// One opened RDMA network: the device, the listener, registrations and leases. Any thread.
#pragma once

#include "bindings.hpp"
#include "device.hpp"
#include "memory.hpp"
#include "session.hpp"

#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::verbs {

class VerbsPort;

class VerbsTransport final : public na::SessionTransport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~VerbsTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "verbs"; }
    [[nodiscard]] std::vector<std::string> endpoints() const override;
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override {
        return endpoint.starts_with("verbs://");
    }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease& lease) const noexcept override;
    [[nodiscard]] std::string diagnosis() const override;

    // Used by the ports.
    [[nodiscard]] const Device& device() const noexcept { return *device_; }
    // -1: it does not listen.
    [[nodiscard]] int listener_fd() const noexcept { return listen_channel_ ? listen_channel_->fd : -1; }
    [[nodiscard]] na::PortTable<VerbsPort>& ports() noexcept { return ports_; }
    // Reads the connection requests at the listener and passes each to its port.
    void take_requests() noexcept;
    [[nodiscard]] Bindings& bindings() noexcept { return bindings_; }
    // Ends a lease that was revoked while it was being bound, and reports its fence to that port.
    void end_revocation(na::Lease& lease, VerbsPort& port) noexcept;
    // The maximum number of slots in a port's receive queue.
    [[nodiscard]] std::uint32_t posted_max() const noexcept { return posted_max_; }

  private:
    VerbsTransport(std::shared_ptr<Device> device, const na::TransportOptions& options);
    [[nodiscard]] Result<void> listen();
    void requested(const CmEvent& event) noexcept;
    void device_is_gone() noexcept;
    [[nodiscard]] bool end_lease(na::Lease& lease) noexcept;

    const std::shared_ptr<Device> device_;
    std::uint32_t posted_max_ = 0;
    na::Allowance leases_;
    Bindings bindings_;

    EventChannel listen_channel_;
    CmId listener_;
    std::mutex listen_mutex_;

    na::PortTable<VerbsPort> ports_;
    std::mutex stuck_mutex_;
    std::unique_ptr<LentMemory> stuck_;  // a list of leases that could not be deregistered
};

}  // namespace cinnabar::verbs
