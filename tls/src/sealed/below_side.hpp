// SPDX-License-Identifier: BSD-3-Clause
// A sealed port as the port below sees it: its host, and the receiver of its messages. Owner of the context only,
// except wake() and submit(): any thread.
#pragma once

#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::tls {

class SealedPort;

class BelowSide final : public na::PortHost, public na::Receiver {
  public:
    // `host`: of the sealed port.
    BelowSide(SealedPort& port, na::PortHost& host) noexcept : port_(port), host_(host) {}

    // Overrides of na::PortHost.
    [[nodiscard]] na::Receiver& receiver() noexcept override { return *this; }
    void complete(na::Op& op, Errc result) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return host_.now_us(); }
    void arm(WheelTimer& timer, TimeUs when) noexcept override { host_.arm(timer, when); }
    void disarm(WheelTimer& timer) noexcept override { host_.disarm(timer); }
    [[nodiscard]] int epoll_fd() noexcept override { return host_.epoll_fd(); }
    void wake() noexcept override { host_.wake(); }
    void submit(WorkItem& work) noexcept override { host_.submit(work); }
    [[nodiscard]] na::ContextId context_id() const noexcept override { return host_.context_id(); }
    [[nodiscard]] ThreadUse threads() const noexcept override { return host_.threads(); }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept override { return host_.initial_credits(); }
    [[nodiscard]] bool spins() const noexcept override { return host_.spins(); }
    // The context knows only peers of the sealed port.
    void peer_gone(na::Peer&) noexcept override {}

    // Overrides of na::Receiver.
    void on_unexpected(na::Arrival& arrival) noexcept override;
    void on_expected(na::Arrival& arrival) noexcept override;
    void on_notify(na::Peer& below, std::uint32_t value) noexcept override;
    void on_peer(na::Peer& below, na::PeerEvent event, Errc why) noexcept override;

  private:
    SealedPort& port_;
    na::PortHost& host_;
};

}  // namespace cinnabar::tls
