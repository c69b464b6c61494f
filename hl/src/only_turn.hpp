// SPDX-License-Identifier: BSD-3-Clause
// OnlyTurn: aborts if two threads are in turns of one loop at once. What turns share without a lock relies on that
// (decision 146). Nothing in builds without asserts.
#pragma once

#include <cinnabar/base/assert.hpp>

#include <atomic>

namespace cinnabar::hl {

// Of a loop: the thread that is in a turn of it.
class TurnThread {
#ifndef NDEBUG
  public:
    // Until the end of the block, the calling thread is in a turn. It may be in one already.
    class OnlyTurn {
      public:
        explicit OnlyTurn(TurnThread& of) noexcept : of_(of) {
            // relaxed: an order would hide races from the thread sanitizer.
            before_ = of_.thread_.exchange(&self(), std::memory_order_relaxed);
            CINNABAR_DEBUG_ASSERT(!before_ || before_ == &self());
        }
        ~OnlyTurn() { of_.thread_.store(before_, std::memory_order_relaxed); }
        OnlyTurn(const OnlyTurn&) = delete;
        OnlyTurn& operator=(const OnlyTurn&) = delete;

      private:
        TurnThread& of_;
        const void* before_;
    };

  private:
    static const char& self() noexcept {
        static constinit thread_local char thread = 0;
        return thread;
    }
    std::atomic<const void*> thread_{nullptr};
#else
  public:
    struct OnlyTurn {
        explicit OnlyTurn(TurnThread&) noexcept {}
    };
#endif
};

}  // namespace cinnabar::hl
