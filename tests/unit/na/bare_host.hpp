// SPDX-License-Identifier: BSD-3-Clause
// A context that has nothing but a descriptor of epoll.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/transport.hpp>

#include <sys/epoll.h>

#include <cstdint>
#include <cstdlib>

namespace cinnabar::na {

class BareHost final : public PortHost {
  public:
    BareHost() = default;
    [[nodiscard]] Receiver& receiver() noexcept override { std::abort(); }
    void complete(Op&, Errc) noexcept override {}
    [[nodiscard]] TimeUs now_us() noexcept override { return 0; }
    void arm(WheelTimer&, TimeUs) noexcept override {}
    void disarm(WheelTimer&) noexcept override {}
    [[nodiscard]] int epoll_fd() noexcept override { return epoll_.get(); }
    void wake() noexcept override {}
    void submit(WorkItem&) noexcept override {}
    [[nodiscard]] ContextId context_id() const noexcept override { return {}; }
    [[nodiscard]] ThreadUse threads() const noexcept override { return ThreadUse::one; }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept override { return 0; }
    [[nodiscard]] bool spins() const noexcept override { return false; }
    void peer_gone(Peer&) noexcept override {}

  private:
    UniqueFd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
};

}  // namespace cinnabar::na
