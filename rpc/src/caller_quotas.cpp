// SPDX-License-Identifier: BSD-3-Clause
#include "caller_quotas.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::rpc {

std::shared_ptr<CallerAccount> CallerAccounts::of(const na::Addr& source, const Policy::Quota& quota) noexcept {
    try {
        if (accounts_.size() >= look_at_) {
            std::erase_if(accounts_, [](const auto& entry) { return entry.second.use_count() == 1; });
            look_at_ = std::max(unused_max, 2 * accounts_.size());
        }
        std::shared_ptr<CallerAccount>& account = accounts_[caller_name(source)];
        if (!account) account = std::make_shared<CallerAccount>();
        account->requests_max = quota.requests_max;
        account->quota = quota.name;
        return account;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace cinnabar::rpc
