// SPDX-License-Identifier: BSD-3-Clause
// Handles a port's completion queue: work requests that are done, messages, notifications, and the receive slots that
// they used. Owner of the context only.
#pragma once

#include "completion_queue.hpp"

#include <cinnabar/na/arrival.hpp>

#include <cstdint>
#include <unordered_map>

namespace cinnabar::verbs {

class Session;
class VerbsPort;

class Arrivals {
  public:
    explicit Arrivals(VerbsPort& port) noexcept;

    [[nodiscard]] CompletionQueue& queue() noexcept { return queue_; }
    // Delivers the receives of the session's queue pair to it from now on. May throw bad_alloc.
    void add(Session& session);
    // Call it when the queue pair is destroyed.
    void remove(Session& session) noexcept;
    // Handles the completions in the queue, at most a bounded number; returns how many.
    unsigned poll() noexcept;
    // As poll(), until the queue is empty. If completions keep coming, leaves the rest to poll().
    void poll_all() noexcept;
    // How often poll() has emptied the queue.
    [[nodiscard]] std::uint64_t times_emptied() const noexcept { return times_emptied_; }
    // Delivers a receive of an open session.
    void deliver(Session& session, const ibv_wc& done) noexcept;
    // As na::Port::keep.
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept;

  private:
    void received(const ibv_wc& done) noexcept;

    VerbsPort& port_;
    CompletionQueue queue_;
    std::unordered_map<std::uint32_t, Session*> by_queue_pair_;
    std::uint64_t times_emptied_ = 0;
    bool in_hand_ = false;  // an arrival is being delivered and was not kept
};

}  // namespace cinnabar::verbs
