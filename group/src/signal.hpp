// SPDX-License-Identifier: BSD-3-Clause
// Signal: an event that happens once, and the tasks that wait for it. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/stop.hpp>
#include <cinnabar/hl/task.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API Signal {
  public:
    void set() noexcept;
    [[nodiscard]] bool is_set() const noexcept;

  private:
    friend hl::Task<Errc> wait_for(hl::NodeRef node, std::shared_ptr<Signal> signal, Microseconds span);
    mutable std::mutex mutex_;
    bool set_ = false;
    std::vector<hl::StopScope*> waiting_;  // one scope for each waiting task
};

// ok: the signal is set. Otherwise the reason why the wait ended: timed_out (the task's deadline, or `span`), canceled.
[[nodiscard]] CINNABAR_API hl::Task<Errc> wait_for(hl::NodeRef node, std::shared_ptr<Signal> signal,
                                                   Microseconds span = std::chrono::hours(24 * 365));

}  // namespace cinnabar::group
