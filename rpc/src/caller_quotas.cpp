// SPDX-License-Identifier: BSD-3-Clause
#include "caller_quotas.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/rpc/callers.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <new>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t quota_name_bytes_max = 64;  // is_rule_name()

// No connection or request refers to it.
constexpr auto is_unused_account = [](const auto& entry) { return entry.second.use_count() <= 1; };

}  // namespace

void CallerAccount::set_quota(const Policy::Quota* quota) noexcept {
    const std::uint64_t wanted = quota ? quota->bytes_max : 0;
    bytes_max_.store(wanted == 0 ? ~std::uint64_t{0} : wanted, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    quota_ = quota;
}

bool CallerAccount::take_request() noexcept {
    if (quota_ && requests_ >= quota_->requests_max) return false;
    ++requests_;
    return true;
}

// Takes all of the bytes or none, so a request that is too large does not make another one fail.
bool CallerAccount::take_bytes(std::uint64_t bytes) noexcept {
    const std::uint64_t most = bytes_max_.load(std::memory_order_relaxed);
    std::uint64_t held = bytes_.load(std::memory_order_relaxed);
    do {
        if (held > most || bytes > most - held) {
            log_refusal();
            return false;
        }
    } while (!bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
}

// Copies the name of the quota: the policy may be replaced as soon as the lock is released.
void CallerAccount::log_refusal() const noexcept {
    static constinit LogLimit lines;
    std::array<char, quota_name_bytes_max + 1> name{};
    {
        const std::lock_guard lock(mutex_);
        if (quota_) quota_->name.copy(name.data(), name.size() - 1);
    }
    log_limited(lines, LogLevel::warning, "rpc", "%s has as many bytes in progress as the quota %s allows",
                name_.c_str(), name.data());
}

std::shared_ptr<CallerAccount> CallerAccounts::of(const na::Addr& source, const Policy::Quota& quota) noexcept {
    try {
        if (accounts_.size() >= look_at_) {
            std::erase_if(accounts_, is_unused_account);
            look_at_ = std::max(unused_max, 2 * accounts_.size());
        }
        std::string name = caller_name(source);
        std::shared_ptr<CallerAccount>& account = accounts_[name];
        if (!account) account = std::make_shared<CallerAccount>(source, std::move(name));
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
