// SPDX-License-Identifier: BSD-3-Clause
// The room of a completion queue for the work requests of all connections of a port, and the connections that wait for
// room. Every request counts, signalled or not: if its queue pair fails, it has a completion. Pure. Owner of the
// context only.
#pragma once

#include "work_request.hpp"

#include <cinnabar/base/intrusive_queue.hpp>

#include <cstdint>

namespace cinnabar::verbs {

template <typename Waiter, ListLink<Waiter> Waiter::*Link>
class QueueRoom {
  public:
    void open(std::uint32_t max) noexcept { max_ = max; }
    // Whether there is room for one more operation.
    [[nodiscard]] bool any() const noexcept { return taken_ + op_requests_max <= max_; }
    // From here on every request has to be signalled. An unsignalled one frees its room only when a later request of
    // its connection completes, and without room there would be no later one.
    [[nodiscard]] bool low() const noexcept { return taken_ >= max_ / 2; }
    void take() noexcept { ++taken_; }
    // Frees the room of one request and passes all that wait to `wake`. They have to check again.
    template <typename F>
    void give(F&& wake) noexcept {
        --taken_;
        if (!any()) return;
        while (Waiter* waiter = waiting_.pop_front()) wake(*waiter);
    }
    void wait(Waiter& waiter) noexcept {
        if (!Waiters::linked(waiter)) waiting_.push_back(waiter);
    }
    void forget(Waiter& waiter) noexcept {
        if (Waiters::linked(waiter)) waiting_.remove(waiter);
    }

    void forget_all() noexcept {
        while (!waiting_.empty()) (void)waiting_.pop_front();
    }

  private:
    using Waiters = IntrusiveList<Waiter, Link>;

    std::uint32_t max_ = 0;
    std::uint32_t taken_ = 0;
    Waiters waiting_;
};

}  // namespace cinnabar::verbs
