// SPDX-License-Identifier: BSD-3-Clause
// Accepts on the transport's listening socket for this port, and keeps the bounded crowd that has not said who it is.
// Every port watches the listening socket; whichever wakes first accepts, for all. Owner of the context only.
#pragma once

#include "handshake.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::shm {

class Newcomers final : public na::FdEvents {
  public:
    // More at once, and the oldest are dropped: a scanner that stays silent cannot keep others out.
    static constexpr std::uint32_t unknown_max = 256;

    explicit Newcomers(ShmPort& port) noexcept;
    void close() noexcept;

    // Begins to watch the listening socket, if there is one. False when the kernel refuses.
    [[nodiscard]] bool watch() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

    void left(Newcomer& newcomer) noexcept;  // it was dropped, or its Hello is done
    [[nodiscard]] std::uint32_t count() const noexcept { return pool_.taken(); }

  private:
    void admit(UniqueFd fd) noexcept;
    void out_of_descriptors(int os_errno) noexcept;
    void unwatch() noexcept;
    static void resume(Timer& timer) noexcept;

    ShmPort& port_;
    SlotPool<Newcomer> pool_;
    IntrusiveList<Newcomer, &Newcomer::link> waiting_;
    bool watching_ = false;
    bool complained_ = false;
    TimerOf<Newcomers> pause_;
};

}  // namespace cinnabar::shm
