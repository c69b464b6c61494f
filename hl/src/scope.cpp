// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/scope.hpp>

namespace cinnabar::hl {

ScopeCore::~ScopeCore() { CINNABAR_ASSERT(running_ == 0); }

Executor& ScopeCore::home() noexcept { return node_.pick_loop({}); }

bool ScopeCore::enter() noexcept {
    if (!node_.enter()) return false;
    const std::lock_guard lock(mutex_);
    ++running_;
    return true;
}

void ScopeCore::leave() noexcept {
    NodeCore& node = node_;
    {
        const std::lock_guard lock(mutex_);
        // Once the joiner is posted the scope may be gone, but not before this lock is.
        if (--running_ == 0 && joiner_) join_executor_->post(*std::exchange(joiner_, nullptr));
    }
    node.leave();
}

bool ScopeCore::join(Executor& executor, Job& joiner) noexcept {
    const std::lock_guard lock(mutex_);
    if (running_ == 0) return true;
    CINNABAR_ASSERT(!joiner_);
    join_executor_ = &executor;
    joiner_ = &joiner;
    return false;
}

Scope::Scope(const NodeRef& node) : core_(node.core(), &node.core().scope().stop()) {}

}  // namespace cinnabar::hl
