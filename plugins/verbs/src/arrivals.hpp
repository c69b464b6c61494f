// SPDX-License-Identifier: BSD-3-Clause
// What a port's completion queue brings: work requests that are done, messages and notifications, and the receive slots
// that they came in. Owner of the context only.
#pragma once

#include "completion_queue.hpp"

#include <cinnabar/na/arrival.hpp>

#include <cstdint>
#include <unordered_map>

namespace cinnabar::verbs {

class Connection;
class VerbsPort;

class Arrivals {
  public:
    explicit Arrivals(VerbsPort& port) noexcept;

    [[nodiscard]] CompletionQueue& queue() noexcept { return queue_; }
    // A queue pair whose receives are for that connection. May throw bad_alloc.
    void add(Connection& connection);
    // The queue pair is destroyed.
    void remove(Connection& connection) noexcept;
    // Hands out what the queue has, within a bound; returns how much.
    unsigned poll() noexcept;
    // How often poll() has emptied the queue.
    [[nodiscard]] std::uint64_t times_emptied() const noexcept { return times_emptied_; }
    // A receive of an open session.
    void deliver(Connection& connection, const ibv_wc& done) noexcept;
    // As na::Port::keep.
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept;

  private:
    void received(const ibv_wc& done) noexcept;

    VerbsPort& port_;
    CompletionQueue queue_;
    std::unordered_map<std::uint32_t, Connection*> by_queue_pair_;
    std::uint64_t times_emptied_ = 0;
    bool in_hand_ = false;  // the arrival that is being delivered was not kept
};

}  // namespace cinnabar::verbs
