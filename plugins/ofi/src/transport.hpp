// SPDX-License-Identifier: BSD-3-Clause
// One opened fabric: the selected provider, the handshake socket, and the leases. Any thread.
#pragma once

#include "fences.hpp"
#include "greeting.hpp"
#include "selection.hpp"

#include <cinnabar/na/session/guarded_transport.hpp>

#include <atomic>
#include <memory>

namespace cinnabar::ofi {

class Endpoint;
class OfiPort;

// An incoming connection whose greeting was received.
struct Incoming {
    na::Stream stream;
    Greeting greeting;
};

class OfiTransport final : public na::GuardedTransport<OfiPort> {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    // Opens a transport whose sessions are protected.
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open_guarded(const na::Uri& uri,
                                                                             const na::TransportOptions& options,
                                                                             std::unique_ptr<na::StreamGuards> guards);

    [[nodiscard]] std::string_view scheme() const noexcept override {
        return guards() ? guarded_scheme(provider()) : provider().scheme;
    }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    [[nodiscard]] bool is_accessed(const na::Lease& lease) noexcept override { return fences_.is_accessed(lease); }
    [[nodiscard]] std::string diagnosis() const override;

    // Used by the ports.
    [[nodiscard]] const Provider& provider() const noexcept { return *selection_.provider; }
    [[nodiscard]] Fences& fences() noexcept { return fences_; }
    // Chunks of staging memory for this side's operations, and as many for those of peers.
    [[nodiscard]] std::uint32_t staging() const noexcept { return selection_.staging; }
    // How many bytes sealing adds to a frame or chunk; 0: they are not sealed.
    [[nodiscard]] std::size_t trailer_bytes() const noexcept { return guards() ? na::MessageGuard::trailer_bytes : 0; }
    // Counts a frame that names no session, because it is late or forged; diagnosis() reports the number.
    void count_stray() noexcept { strays_.fetch_add(1, std::memory_order_relaxed); }

  private:
    OfiTransport(const na::TransportOptions& options, Selection selection, std::unique_ptr<na::StreamGuards> guards);
    [[nodiscard]] std::uint32_t staging_min() const noexcept;

    Selection selection_;
    Fid<fid_fabric> fabric_;
    Fences fences_{leases_};
    std::atomic<std::uint64_t> strays_{0};
};

}  // namespace cinnabar::ofi
