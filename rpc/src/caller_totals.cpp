// SPDX-License-Identifier: BSD-3-Clause
#include "caller_totals.hpp"

#include <new>

namespace cinnabar::rpc {

std::shared_ptr<CallerTotals> CallerTable::of(const std::string& name) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        forget_unused(totals_, look_at_);
        std::shared_ptr<CallerTotals>& totals = totals_[name];
        if (!totals) totals = std::make_shared<CallerTotals>();
        return totals;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace cinnabar::rpc
