// SPDX-License-Identifier: BSD-3-Clause
// StoppedScopes: hands a stop() over to a loop, which alone may use the list of its operations in a scope. Thread-safe.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/short_mutex.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/stop.hpp>

namespace cinnabar::hl {

class StoppedScopes {
  public:
    explicit StoppedScopes(Loop& loop) noexcept;

    // The operations of the scope fire in a later turn of the loop, unless remove() comes first. Once the loop closes,
    // nothing fires any more: the loop ends its operations itself. Allocates nothing and never owns a context.
    void add(StopScope& scope) noexcept;
    // When this returns, the loop does not use the scope. Does nothing if the scope was not added.
    void remove(StopScope& scope) noexcept;
    // When this returns, nothing is being posted to the loop, and nothing will be.
    void close() noexcept;

  private:
    void fire_all() noexcept;

    // Lock order: behind the mutexes of scopes. Operations fire under it.
    ShortMutex mutex_;
    IntrusiveList<StopScope, &StopScope::stopped_link_> scopes_;
    Job job_;
    Loop& loop_;
    bool posted_ = false;
    bool closed_ = false;
};

}  // namespace cinnabar::hl
