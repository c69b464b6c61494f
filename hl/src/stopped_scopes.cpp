// SPDX-License-Identifier: BSD-3-Clause
#include "stopped_scopes.hpp"

#include "loop.hpp"

#include <mutex>
#include <utility>

namespace cinnabar::hl {

StoppedScopes::StoppedScopes(Loop& loop) noexcept : loop_(loop) {
    job_.user = this;
    job_.body = [](Job& job) noexcept { static_cast<StoppedScopes*>(job.user)->fire_all(); };
}

void StoppedScopes::add(StopScope& scope) noexcept {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    scopes_.push_back(scope);
    if (!std::exchange(posted_, true)) loop_.post(job_);
}

void StoppedScopes::remove(StopScope& scope) noexcept {
    const std::lock_guard lock(mutex_);
    if (scopes_.linked(scope)) scopes_.remove(scope);
}

void StoppedScopes::close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

void StoppedScopes::fire_all() noexcept {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    while (StopScope* scope = scopes_.pop_front()) {
        if (!closed_) scope->fire_in_turn();
    }
}

}  // namespace cinnabar::hl
