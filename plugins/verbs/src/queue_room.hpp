// SPDX-License-Identifier: BSD-3-Clause
// The room that a completion queue has for the work requests of all connections of a port together, and who waits for
// some. Each request counts, told of or not: if its queue pair fails, there is a completion for it. Pure. Owner of the
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
    // For one more operation.
    [[nodiscard]] bool any() const noexcept { return taken_ + op_requests_max <= max_; }
    // From here on the device must tell of everything. What it does not tell of gives its room back only behind a later
    // request of the same connection, and if all of the room went that way, there would never be a later one.
    [[nodiscard]] bool low() const noexcept { return taken_ >= max_ / 2; }
    void take() noexcept { ++taken_; }
    // Whoever waits is given to `wake`, and has to look for itself whether there is what it needs.
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
