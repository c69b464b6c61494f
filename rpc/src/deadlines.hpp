// SPDX-License-Identifier: BSD-3-Clause
// Deadlines of calls. Calls with ascending deadlines are in a queue with a common timer; any other call has a timer of
// its own. Owner of the context only.
#pragma once

#include "context_base.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/rpc/call.hpp>

namespace cinnabar::rpc {

class Origin;

class Deadlines {
  public:
    Deadlines(ContextBase& base, Origin& origin) noexcept;

    void watch(Call& call) noexcept;
    void forget(Call& call) noexcept {
        if (call.deadline_link_.linked) return calls_.remove(call);
        if (call.whole_way_) base_.na->disarm(call.timer_);
    }
    // As forget(), for a call of the fast path, which has no timer of its own.
    void forget_plain(Call& call) noexcept {
        if (call.deadline_link_.linked) calls_.remove(call);
    }
    void close() noexcept;

  private:
    [[gnu::noinline]] void watch_alone(Call& call) noexcept;
    [[gnu::noinline]] void arm_first(TimeUs deadline) noexcept;
    void look() noexcept;

    ContextBase& base_;
    Origin& origin_;
    IntrusiveList<Call, &Call::deadline_link_> calls_;  // with ascending deadlines
    TimerOf<Deadlines> first_;                          // fires at or before the deadline of the first of them
};

}  // namespace cinnabar::rpc
