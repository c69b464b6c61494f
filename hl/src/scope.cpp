// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/scope.hpp>

namespace cinnabar::hl {

ScopeCore::~ScopeCore() { CINNABAR_ASSERT(running_ == 0); }

Executor& ScopeCore::home() noexcept { return node_.pick_loop(); }

bool ScopeCore::enter() noexcept {
    if (!node_.enter()) return false;
    const std::lock_guard lock(mutex_);
    ++running_;
    return true;
}

void ScopeCore::leave() noexcept {
    NodeCore& node = node_;
    Executor* executor = nullptr;
    Job* joiner = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (--running_ == 0) {
            executor = join_executor_;
            joiner = std::exchange(joiner_, nullptr);
        }
    }
    // Without the lock: once posted, the joiner may destroy the scope.
    if (joiner) executor->post(*joiner);
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

Scope::Scope(const NodeRef& node) : core_(*node.core_, &node.core_->scope().stop()) {}

}  // namespace cinnabar::hl
