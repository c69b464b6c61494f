// SPDX-License-Identifier: BSD-3-Clause
// Events: a stream of the changes in a group.
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
    // Waits for the next event. The first call returns the first event after the stream was made. closed: this
    // process's group is closed. timed_out, canceled: the task timed out or was canceled.
    [[nodiscard]] hl::Task<Result<Event>> next();

  private:
    std::shared_ptr<EventQueue> queue_;
};

}  // namespace cinnabar::group
