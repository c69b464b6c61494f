// SPDX-License-Identifier: BSD-3-Clause
// EventQueue: the unread events of one reader; bounded. Any thread.
#pragma once

#include "signal.hpp"

#include <cinnabar/group/events.hpp>

#include <deque>

namespace cinnabar::group {

class EventQueue {
  public:
    static constexpr std::size_t events_max = 1024;

    explicit EventQueue(hl::NodeRef node) : node_(node) {}
    void add(const Event& event);
    void close();
    // Returns an event, or `closed`. If there is none, sets `later` to the signal to wait for.
    [[nodiscard]] std::optional<Result<Event>> take(std::shared_ptr<Signal>& later);
    [[nodiscard]] hl::NodeRef node() const noexcept { return node_; }

  private:
    hl::NodeRef node_;
    std::mutex mutex_;
    std::deque<Event> events_;
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
    bool closed_ = false;
};

}  // namespace cinnabar::group
