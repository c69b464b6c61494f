// SPDX-License-Identifier: BSD-3-Clause
// Events: what happens in a group, as a stream.
//
//     Events events = group.events();
//     while (auto event = co_await events.next()) { ... }
//
// Used by one task at a time; may outlive its Group, and then ends with `closed`.
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
    // Waits for the next event since this stream was made. closed: the group is, here. timed_out, canceled: of the
    // task.
    [[nodiscard]] hl::Task<Result<Event>> next();

  private:
    std::shared_ptr<EventQueue> queue_;
};

}  // namespace cinnabar::group
