// SPDX-License-Identifier: BSD-3-Clause
#include "caller_quotas.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/rpc/callers.hpp>

#include <array>
#include <functional>
#include <mutex>
#include <new>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t quota_name_bytes_max = 64;  // is_rule_name()

// The policy writes 0 for "no limit".
constexpr std::uint64_t limit_of(std::uint64_t wanted) noexcept { return wanted == 0 ? SharedCount::no_limit : wanted; }

}  // namespace

void CallerAccount::set_quota(const Policy::Quota* quota) noexcept {
    bytes_max_.store(quota ? limit_of(quota->bytes_max) : SharedCount::no_limit, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    quota_ = quota;
}

bool CallerAccount::take_request() noexcept {
    if (totals_->requests.take(1, quota_ ? quota_->requests_max : SharedCount::no_limit)) return true;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc",
                {peer_field(name_), LogField("quota", quota_->name), error_field(Errc::overloaded)},
                "%s has as many requests in progress as the quota %s allows", name_.c_str(), quota_->name.c_str());
    return false;
}

// Takes all of the bytes or none, so a request that is too large does not make another one fail.
bool CallerAccount::take_bytes(std::uint64_t bytes) noexcept {
    if (totals_->bytes.take(bytes, bytes_max_.load(std::memory_order_relaxed))) return true;
    log_refused_bytes(bytes);
    return false;
}

bool CallerAccount::take_lease(std::uint64_t bytes) noexcept {
    static constinit LogLimit lines;
    if (!totals_->leases.take(1, quota_ ? limit_of(quota_->leases_max) : SharedCount::no_limit)) {
        log_limited(lines, LogLevel::warning, "rpc",
                    {peer_field(name_), LogField("quota", quota_->name), error_field(Errc::overloaded)},
                    "%s is lent as many pieces of memory as the quota %s allows", name_.c_str(), quota_->name.c_str());
        return false;
    }
    if (!totals_->lent_bytes.take(bytes, quota_ ? limit_of(quota_->lent_bytes_max) : SharedCount::no_limit)) {
        totals_->leases.give_back(1);
        log_limited(
            lines, LogLevel::warning, "rpc",
            {peer_field(name_), LogField("quota", quota_->name), error_field(Errc::overloaded), bytes_field(bytes)},
            "%s is lent as many bytes of memory as the quota %s allows", name_.c_str(), quota_->name.c_str());
        return false;
    }
    return true;
}

void CallerAccount::give_back_lease(std::uint64_t bytes) noexcept {
    totals_->lent_bytes.give_back(bytes);
    totals_->leases.give_back(1);
}

// Copies the name of the quota: the policy may be replaced as soon as the lock is released.
void CallerAccount::log_refused_bytes(std::uint64_t bytes) const noexcept {
    static constinit LogLimit lines;
    std::array<char, quota_name_bytes_max + 1> name{};
    {
        const std::lock_guard lock(mutex_);
        if (quota_) quota_->name.copy(name.data(), name.size() - 1);
    }
    log_limited(lines, LogLevel::warning, "rpc",
                {peer_field(name_), LogField("quota", name.data()), error_field(Errc::overloaded), bytes_field(bytes)},
                "%s has as many bytes in progress as the quota %s allows", name_.c_str(), name.data());
}

std::shared_ptr<CallerAccount> CallerAccounts::of(const na::Addr& source, const Policy::Quota& quota) noexcept {
    try {
        forget_unused(accounts_, look_at_);
        std::string name = caller_name(source);
        std::shared_ptr<CallerAccount>& account = accounts_[name];
        if (!account) {
            auto totals = table_.of(name);
            if (!totals) return nullptr;
            account = std::make_shared<CallerAccount>(source, std::move(name), std::move(totals));
        }
        // The addresses of a policy's quotas are in the order of the policy.
        if (!account->quota() || std::less<>()(&quota, account->quota())) account->set_quota(&quota);
        return account;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void CallerAccounts::follow(const Policy* policy) noexcept {
    std::erase_if(accounts_, is_unused_account);
    for (const auto& [name, account] : accounts_)
        account->set_quota(policy ? policy->quota_of(account->source()) : nullptr);
}

}  // namespace cinnabar::rpc
