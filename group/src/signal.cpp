// SPDX-License-Identifier: BSD-3-Clause
#include "signal.hpp"

#include <algorithm>

namespace cinnabar::group {

void Signal::set() noexcept {
    const std::lock_guard lock(mutex_);
    set_ = true;
    for (hl::StopScope* scope : waiting_) scope->stop();
}

bool Signal::is_set() const noexcept {
    const std::lock_guard lock(mutex_);
    return set_;
}

// Signal::set() stops the scope, which ends the sleep.
hl::Task<Errc> wait_for(hl::NodeRef node, std::shared_ptr<Signal> signal, Microseconds span) {
    const hl::TaskContext* outer = co_await hl::this_task();
    hl::StopScope scope(outer ? outer->stop_scope() : nullptr);
    hl::TaskContext inner = outer ? *outer : hl::TaskContext{};
    inner.stop = &scope;
    inner.request = nullptr;
    co_await hl::detail::AdoptContext{&inner};
    {
        const std::lock_guard lock(signal->mutex_);
        if (signal->set_) co_return Errc::ok;
        signal->waiting_.push_back(&scope);
    }
    const Errc slept = co_await node.sleep_for(span);
    const std::lock_guard lock(signal->mutex_);
    std::erase(signal->waiting_, &scope);
    if (signal->set_) co_return Errc::ok;
    co_return slept == Errc::ok ? Errc::timed_out : slept;
}

}  // namespace cinnabar::group
