// SPDX-License-Identifier: BSD-3-Clause
// Charges requests, bytes and lent memory to the account of a caller or refuses them, explains a refusal to the caller
// and in the log, and finds the account of a connection.
#include "caller_quotas.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/rpc/callers.hpp>

#include <charconv>
#include <functional>
#include <mutex>
#include <new>

namespace cinnabar::rpc {
namespace {

// The policy writes 0 for "no limit".
constexpr std::uint64_t limit_of(std::uint64_t wanted) noexcept { return wanted == 0 ? SharedCount::no_limit : wanted; }

// Takes from the count, or says why not.
bool take_from_total(SharedCount& count, QuotaLimit limit, std::uint64_t amount, std::uint64_t most,
                     QuotaRefusal* why) noexcept {
    if (count.take(amount, most)) return true;
    if (why) *why = {limit, amount, count.held(), most};
    return false;
}

struct LimitWords {
    std::string_view name;
    std::string_view what;
    std::string_view again;
};

constexpr std::array<LimitWords, 5> limit_words{{
    {},
    {"requests", " requests in progress", ": call again when one has ended"},
    {"bytes", " bytes in progress", ": call again when others have ended"},
    {"leases", " pieces of lent memory", ": call again when one was given back"},
    {"lent bytes", " bytes of lent memory", ": call again when others were given back"},
}};

const LimitWords& words_of(QuotaLimit limit) noexcept { return limit_words[static_cast<std::size_t>(limit)]; }

// A text that is cut off where its room ends.
class QuotaText {
  public:
    explicit QuotaText(std::span<char> room) noexcept : room_(room) {}
    void add(std::string_view piece) noexcept { bytes_ += piece.copy(room_.data() + bytes_, room_.size() - bytes_); }
    void add(std::uint64_t number) noexcept {
        std::array<char, 20> digits{};
        const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
        add(std::string_view(digits.data(), static_cast<std::size_t>(written.ptr - digits.data())));
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::span<char> room_;
    std::size_t bytes_ = 0;
};

}  // namespace

std::string_view to_string(QuotaLimit limit) noexcept { return words_of(limit).name; }

void CallerAccount::set_quota(const Policy::Quota* quota) noexcept {
    bytes_max_.store(quota ? limit_of(quota->bytes_max) : SharedCount::no_limit, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    quota_ = quota;
}

bool CallerAccount::take_request(QuotaRefusal* why) noexcept {
    const std::uint64_t most = quota_ ? quota_->requests_max : SharedCount::no_limit;
    if (take_from_total(totals_->requests, QuotaLimit::requests, 1, most, why)) return true;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc",
                {peer_field(name_), LogField("quota", quota_->name), error_field(Errc::overloaded)},
                "%s has as many requests in progress as the quota %s allows", name_.c_str(), quota_->name.c_str());
    return false;
}

// Takes all of the bytes or none, so the bytes of a request that is refused never make another request fail.
bool CallerAccount::take_bytes(std::uint64_t bytes, QuotaRefusal* why) noexcept {
    const std::uint64_t most = bytes_max_.load(std::memory_order_relaxed);
    if (take_from_total(totals_->bytes, QuotaLimit::bytes, bytes, most, why)) return true;
    log_refused_bytes(bytes);
    return false;
}

bool CallerAccount::take_lease(std::uint64_t bytes, QuotaRefusal* why) noexcept {
    static constinit LogLimit lines;
    const std::uint64_t leases_most = quota_ ? limit_of(quota_->leases_max) : SharedCount::no_limit;
    const std::uint64_t bytes_most = quota_ ? limit_of(quota_->lent_bytes_max) : SharedCount::no_limit;
    if (!take_from_total(totals_->leases, QuotaLimit::leases, 1, leases_most, why)) {
        log_limited(lines, LogLevel::warning, "rpc",
                    {peer_field(name_), LogField("quota", quota_->name), error_field(Errc::overloaded)},
                    "%s is lent as many pieces of memory as the quota %s allows", name_.c_str(), quota_->name.c_str());
        return false;
    }
    if (!take_from_total(totals_->lent_bytes, QuotaLimit::lent_bytes, bytes, bytes_most, why)) {
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

QuotaName CallerAccount::quota_name() const noexcept {
    QuotaName name{};
    const std::lock_guard lock(mutex_);
    if (quota_) quota_->name.copy(name.data(), name.size() - 1);
    return name;
}

std::size_t CallerAccount::explain(const QuotaRefusal& refusal, std::span<char> room) const noexcept {
    constexpr std::size_t caller_bytes_max = 96;
    const QuotaName quota = quota_name();
    const LimitWords& words = words_of(refusal.limit);
    QuotaText text(room);
    text.add("by the quota ");
    text.add(quota.data());
    text.add(": ");
    text.add(std::string_view(name_).substr(0, caller_bytes_max));
    if (refusal.code() == Errc::too_large) {
        text.add(" may have at most ");
        text.add(refusal.most);
        text.add(words.what);
        text.add(", and this is ");
        text.add(refusal.asked);
        text.add(": send or lend less at once");
        return text.bytes();
    }
    text.add(" has ");
    text.add(refusal.held);
    text.add(" of ");
    text.add(refusal.most);
    text.add(words.what);
    if (refusal.asked != 1) {
        text.add(", and this is ");
        text.add(refusal.asked);
    }
    text.add(words.again);
    return text.bytes();
}

void CallerAccount::log_refused_bytes(std::uint64_t bytes) const noexcept {
    static constinit LogLimit lines;
    const QuotaName name = quota_name();
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
        // If the caller matches two quotas, the one that comes first in the policy applies. It has the lower address,
        // because a policy stores its quotas in order.
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
