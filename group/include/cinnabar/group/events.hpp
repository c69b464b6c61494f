// SPDX-License-Identifier: BSD-3-Clause
// Events: what happens in a group, as a stream.
//
//     Events events = group.events();
//     while (auto event = co_await events.next()) { ... }
//
// One task at a time may use it. It may outlive its Group; next() then returns `closed`.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/group/view.hpp>
#include <cinnabar/hl/task.hpp>

#include <memory>

namespace cinnabar::group {

class EventQueue;

class CINNABAR_API Events {
  public:
    explicit Events(std::shared_ptr<EventQueue> queue) noexcept : queue_(std::move(queue)) {}
    // Waits for the next event. The first one is the first that happens after the stream was made. closed: this
    // process's group is closed. timed_out, canceled: of the task.
    [[nodiscard]] hl::Task<Result<Event>> next();

  private:
    std::shared_ptr<EventQueue> queue_;
};

}  // namespace cinnabar::group
