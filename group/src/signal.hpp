// SPDX-License-Identifier: BSD-3-Clause
// Signal: something that happens once, and tasks that wait for it. Any thread.
#pragma once

#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/stop.hpp>
#include <cinnabar/hl/task.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::group {

class Signal {
  public:
    void set() noexcept;
    [[nodiscard]] bool is_set() const noexcept;

  private:
    friend hl::Task<Errc> wait_for(hl::NodeRef node, std::shared_ptr<Signal> signal, Microseconds span);
    mutable std::mutex mutex_;
    bool set_ = false;
    std::vector<hl::StopScope*> waiting_;  // the scope of a sleep each
};

// ok: it has happened. Otherwise what ended the wait: timed_out (the deadline of the task, or the span), canceled.
[[nodiscard]] hl::Task<Errc> wait_for(hl::NodeRef node, std::shared_ptr<Signal> signal,
                                      Microseconds span = std::chrono::hours(24 * 365));

}  // namespace cinnabar::group
