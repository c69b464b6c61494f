// SPDX-License-Identifier: BSD-3-Clause
// The quotas of callers: how much each caller with a quota has in progress (caller_totals.hpp), and how much a context
// allows. Requests and memory beyond a quota are refused at once, and never queued; only a Caller, at the origin, lets
// calls wait for a quota (hl/src/outgoing_quota.hpp). Owner of the context only, unless a function says otherwise.
//
// An account belongs to a caller, not to a quota. At any time the quota of the context's present policy applies to the
// caller as a whole: everything that the caller has in progress counts, in whichever context and under whichever policy
// it was charged. If the caller has more than a new quota allows, nothing is taken from the caller, but the caller gets
// nothing more until it has given back enough. Requests that were accepted while the caller had no quota are not
// counted.
//
// Two connections of one caller can match different quotas only if these quotas name groups, `local` or `dialled`. If
// they do, the quota that comes first in the policy applies to all connections of the caller with the context.
#pragma once

#include "caller_totals.hpp"
#include "verdicts.hpp"

#include <cinnabar/base/short_mutex.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/policy.hpp>
#include <cinnabar/rpc/quota_refusal.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::rpc {

// As AuditEvent::limit; static storage.
[[nodiscard]] std::string_view to_string(QuotaLimit limit) noexcept;

using QuotaName = std::array<char, 65>;  // of at most 64 characters (is_rule_name()), with a zero at the end

// The account of a caller in one context. Each request and each piece of lent memory keeps the account that it is
// charged to (Request::counted_by_, RpcLend::lent_to). So requests, bytes and leases are given back to the account that
// they were taken from, even if the policy was replaced or the connection has ended.
class CallerAccount {
  public:
    // `name`: caller_name(). `totals`: of that caller, never null.
    CallerAccount(na::Addr source, std::string name, std::shared_ptr<CallerTotals> totals) noexcept
        : source_(std::move(source)), name_(std::move(name)), totals_(std::move(totals)) {}

    // The address of the connection that the account was made for.
    [[nodiscard]] const na::Addr& source() const noexcept { return source_; }
    // Null: no quota of the present policy applies.
    [[nodiscard]] const Policy::Quota* quota() const noexcept { return quota_; }
    // `quota` must live until the next call of this function.
    void set_quota(const Policy::Quota* quota) noexcept;

    // Counts a request against the quota; give the request back when it is freed. False: the quota allows no further
    // request; this is logged, and `why` says more, as in the functions below.
    [[nodiscard]] bool take_request(QuotaRefusal* why = nullptr) noexcept;
    void give_back_request() noexcept { totals_->requests.give_back(1); }

    // Charges bytes of large arguments and results, and of decoded arguments, to the quota. False: the quota does not
    // allow that many more bytes; this is logged. Any thread.
    [[nodiscard]] bool take_bytes(std::uint64_t bytes, QuotaRefusal* why = nullptr) noexcept;
    void give_back_bytes(std::uint64_t bytes) noexcept { totals_->bytes.give_back(bytes); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return totals_->bytes.held(); }

    // Charges a piece of memory of this size, lent to the caller, to the quota. False: the quota does not allow another
    // piece, or not that many bytes; this is logged.
    [[nodiscard]] bool take_lease(std::uint64_t bytes, QuotaRefusal* why = nullptr) noexcept;
    // Any thread.
    void give_back_lease(std::uint64_t bytes) noexcept;

    // Writes a text for the caller: which quota refused how much, and when to try again. Returns the size of the text.
    // The text is cut off where the room ends. Any thread.
    [[nodiscard]] std::size_t explain(const QuotaRefusal& refusal, std::span<char> room) const noexcept;

  private:
    // Copies the name of the quota: the policy may be replaced as soon as the lock is released. Any thread.
    [[nodiscard]] QuotaName quota_name() const noexcept;
    void log_refused_bytes(std::uint64_t bytes) const noexcept;

    const na::Addr source_;
    const std::string name_;
    const std::shared_ptr<CallerTotals> totals_;
    std::atomic<std::uint64_t> bytes_max_{SharedCount::no_limit};
    mutable ShortMutex mutex_;  // the owner takes it to change quota_, other threads to read it
    const Policy::Quota* quota_ = nullptr;
};

// A connection whose caller has an account.
struct CountedCaller {
    std::shared_ptr<CallerAccount> account;
    Verdicts verdicts;
};

// The accounts of one context.
class CallerAccounts {
  public:
    // `table`: of the engine.
    explicit CallerAccounts(CallerTable& table) noexcept : table_(table) {}

    // Returns the account of the caller. `quota`: of the present policy, for this connection. Null: out of memory.
    [[nodiscard]] std::shared_ptr<CallerAccount> of(const na::Addr& source, const Policy::Quota& quota) noexcept;
    // Call when the policy was replaced: the quotas of `policy` apply from now on. Null: there is no policy.
    void follow(const Policy* policy) noexcept;

  private:
    CallerTable& table_;
    std::map<std::string, std::shared_ptr<CallerAccount>, std::less<>> accounts_;  // by caller_name()
    std::size_t look_at_ = 0;
};

}  // namespace cinnabar::rpc
