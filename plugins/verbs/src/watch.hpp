// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that a port watches and does not own. Owner of the context only.
#pragma once

#include <cinnabar/na/transport.hpp>

#include <sys/epoll.h>

namespace cinnabar::verbs {

template <typename Owner>
class Watch final : public na::FdEvents {
  public:
    Watch(Owner& owner, void (Owner::*ready)() noexcept) noexcept : owner_(owner), ready_(ready) {}

    // False, with errno, when the kernel refuses.
    [[nodiscard]] bool start(int fd, std::uint32_t epoll_events) noexcept {
        if (!owner_.host().watch(fd, epoll_events, *this)) return false;
        fd_ = fd;
        return true;
    }
    void stop() noexcept {
        if (fd_ >= 0) owner_.host().unwatch(fd_);
        fd_ = -1;
    }
    void on_ready(std::uint32_t) noexcept override {
        if (fd_ >= 0) (owner_.*ready_)();
    }

  private:
    Owner& owner_;
    void (Owner::*ready_)() noexcept;
    int fd_ = -1;
};

}  // namespace cinnabar::verbs
