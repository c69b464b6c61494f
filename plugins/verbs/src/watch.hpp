// SPDX-License-Identifier: BSD-3-Clause
// A descriptor in a context's epoll set, and the member function to call when it is ready. Does not own the descriptor.
// Owner of the context only.
#pragma once

#include <cinnabar/na/transport.hpp>

#include <cstdint>

namespace cinnabar::verbs {

template <typename Owner>
class Watch final : public na::FdEvents {
  public:
    Watch(na::PortHost& host, Owner& owner, void (Owner::*ready)() noexcept) noexcept
        : host_(host), owner_(owner), ready_(ready) {}

    // False, with errno: the kernel refused.
    [[nodiscard]] bool start(int fd, std::uint32_t epoll_events) noexcept {
        if (!host_.watch(fd, epoll_events, *this)) return false;
        fd_ = fd;
        return true;
    }
    void stop() noexcept {
        if (fd_ >= 0) host_.unwatch(fd_);
        fd_ = -1;
    }
    void on_ready(std::uint32_t) noexcept override {
        if (fd_ >= 0) (owner_.*ready_)();
    }

  private:
    na::PortHost& host_;
    Owner& owner_;
    void (Owner::*ready_)() noexcept;
    int fd_ = -1;
};

}  // namespace cinnabar::verbs
