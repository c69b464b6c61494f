// SPDX-License-Identifier: BSD-3-Clause
#include "caller_core.hpp"
#include "loop.hpp"
#include "node_core.hpp"

#include <cinnabar/hl/caller.hpp>

namespace cinnabar::hl {
namespace {

std::shared_ptr<CallerCore> core_of(NodeCore& node, const CallerOptions& options) {
    return std::make_shared<CallerCore>(node, options);
}

}  // namespace

Caller::Caller(NodeRef node, CallerOptions options) : BasicCalls({core_of(*node.core_, options)}) {}

Caller Caller::with(Priority priority) const { return Caller({core_.core, priority}); }

CallerCounts Caller::counts() const noexcept {
    const CallerCore& core = *core_.core;
    return {core.calls.load(std::memory_order_relaxed), core.attempts.load(std::memory_order_relaxed),
            core.failed.load(std::memory_order_relaxed), core.out_of_budget.load(std::memory_order_relaxed),
            core.quota.waiting()};
}

namespace detail {

Errc spawn_for(const CallerRef& caller, Task<void> task) { return caller.core->node.ref().spawn(std::move(task)); }

RetriedState::RetriedState(const CallerRef& caller) : loop_(caller.core->node.pick_loop()) { loop_.acquire(); }
RetriedState::~RetriedState() { loop_.release(); }

bool RetriedState::done() const noexcept {
    const std::lock_guard lock(mutex_);
    return done_;
}

void RetriedState::finished() noexcept {
    done_ = true;
    if (waiter_) waiter_->finish();
}

bool RetriedState::wait(Microseconds span) noexcept {
    CINNABAR_ASSERT(Waiter::may_block());
    Waiter waiter;
    waiter.relies_on(loop_);
    {
        const std::lock_guard lock(mutex_);
        if (done_) return true;
        waiter_ = &waiter;
    }
    (void)waiter.wait_for(span);
    const std::lock_guard lock(mutex_);
    waiter_ = nullptr;
    return done_;
}

}  // namespace detail
}  // namespace cinnabar::hl
