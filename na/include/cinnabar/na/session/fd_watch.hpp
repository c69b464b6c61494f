// SPDX-License-Identifier: BSD-3-Clause
// A descriptor in a context's epoll set, and the member function to call when it is ready. A watch does not own the
// descriptor. A watch must outlive the round in which it is stopped: epoll may have returned an event for it already,
// which is then ignored. Owner of the context only.
#pragma once

#include <cinnabar/na/transport.hpp>

#include <cstdint>

namespace cinnabar::na {

template <typename Owner>
class FdWatch final : public FdEvents {
  public:
    FdWatch(PortHost& host, Owner& owner, void (Owner::*ready)() noexcept) noexcept
        : host_(host), owner_(owner), ready_(ready) {}
    FdWatch(const FdWatch&) = delete;
    FdWatch& operator=(const FdWatch&) = delete;

    // False, with errno: the kernel refused.
    [[nodiscard]] bool start(int fd, std::uint32_t epoll_events) noexcept {
        if (!host_.watch(fd, epoll_events, *this)) return false;
        fd_ = fd;
        return true;
    }
    // Waits for other events from now on. False, with errno: the kernel refused. Requires: started.
    [[nodiscard]] bool change(std::uint32_t epoll_events) noexcept {
        return host_.watch_again(fd_, epoll_events, *this);
    }
    // Call it before the descriptor is closed.
    void stop() noexcept {
        if (fd_ >= 0) host_.unwatch(fd_);
        fd_ = -1;
    }
    void on_ready(std::uint32_t) noexcept override {
        if (fd_ >= 0) (owner_.*ready_)();
    }

  private:
    PortHost& host_;
    Owner& owner_;
    void (Owner::*ready_)() noexcept;
    int fd_ = -1;
};

}  // namespace cinnabar::na
