// SPDX-License-Identifier: BSD-3-Clause
// Counts the work requests of all sessions of a port against the size of the completion queue, and lists the
// sessions that wait for room. Every request counts, signalled or not, because it has a completion if its queue pair
// fails. Pure. Owner of the context only.
#pragma once

#include "work_request.hpp"

#include <cinnabar/base/intrusive_queue.hpp>

#include <cstdint>

namespace cinnabar::verbs {

template <typename Waiter, ListLink<Waiter> Waiter::*Link>
class QueueRoom {
  public:
    void open(std::uint32_t max) noexcept { max_ = max; }
    // Whether there is room for another operation.
    [[nodiscard]] bool any() const noexcept { return taken_ + op_requests_max <= max_; }
    // Whether room is low, so that every request must be signalled. An unsignalled request frees its room only when a
    // later request of its session completes, and without room there would be no later one.
    [[nodiscard]] bool low() const noexcept { return taken_ >= max_ / 2; }
    void take() noexcept { ++taken_; }
    // Frees the room of one request, and calls `wake` for all that wait. They must check again.
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
