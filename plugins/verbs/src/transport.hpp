// SPDX-License-Identifier: BSD-3-Clause
// One opened RDMA network: the device, the listener, registrations and leases, and which context has which port. Any
// thread.
#pragma once

#include "connection.hpp"
#include "device.hpp"
#include "memory.hpp"

#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace cinnabar::verbs {

class VerbsPort;

class VerbsTransport final : public na::Transport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~VerbsTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "verbs"; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return incarnation_; }
    [[nodiscard]] std::vector<std::string> endpoints() const override;
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override {
        return endpoint.starts_with("verbs://");
    }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, Writer& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease& lease) const noexcept override;
    [[nodiscard]] std::string diagnosis() const override;

    // For the ports.
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] const Device& device() const noexcept { return *device_; }
    // Below 0: it does not listen.
    [[nodiscard]] int listener_fd() const noexcept { return listen_channel_ ? listen_channel_->fd : -1; }
    // Takes what came in at the listener, and hands it to the ports that it is for.
    void take_requests() noexcept;
    void port_closed(const VerbsPort& port, na::ContextId context) noexcept;
    // Slots that a port's receive queue holds at most.
    [[nodiscard]] std::uint32_t posted_max() const noexcept { return posted_max_; }

  private:
    VerbsTransport(std::shared_ptr<Device> device, const na::TransportOptions& options);
    [[nodiscard]] Result<void> listen();
    void came_in(const CmNews& news) noexcept;
    // To the port of the context that it means. unreachable: there is none; overloaded: as many wait there as may.
    [[nodiscard]] Errc hand_over(Incoming& incoming) noexcept;
    void reject(const Incoming& incoming, Errc why) noexcept;
    void device_is_gone() noexcept;

    na::TransportOptions options_;
    const na::Incarnation incarnation_;
    const std::shared_ptr<Device> device_;
    std::uint32_t posted_max_ = 0;
    na::Caps caps_;
    na::Limits limits_;
    const std::shared_ptr<na::Registrations> registrations_;
    na::Allowance leases_;

    EventChannel listen_channel_;
    CmId listener_;
    std::mutex listen_mutex_;

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, VerbsPort*> ports_;
    std::vector<std::unique_ptr<LentMemory>> stuck_;  // what the device did not give back when it was asked
};

}  // namespace cinnabar::verbs
