// SPDX-License-Identifier: BSD-3-Clause
// What each caller with a quota has in progress in a context, over all its connections: requests, and the bytes that
// they hold. Owner of the context only, unless it says otherwise.
//
// An account belongs to a caller, not to a quota. At any time the quota of the present policy applies to the caller as
// a whole: everything that is charged to the account counts, no matter under which policy it was charged. If the caller
// has more than a new quota allows, nothing is taken from it, but it gets nothing more until enough was given back.
// Requests that were accepted while the caller had no quota are not counted.
//
// Connections of one caller can only match different quotas if these name groups, or `local` or `dialled`. Then the
// first of those quotas in the policy applies to all of these connections.
#pragma once

#include "verdicts.hpp"

#include <cinnabar/base/short_mutex.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cinnabar::rpc {

// A request keeps the account that it is charged to (Request::counted_by_), so what was taken is given back to the same
// account, even if the policy was replaced or the connection has ended.
class CallerAccount {
  public:
    CallerAccount(na::Addr source, std::string name) noexcept : source_(std::move(source)), name_(std::move(name)) {}

    // The address of the connection that the account was made for.
    [[nodiscard]] const na::Addr& source() const noexcept { return source_; }
    // Null: no quota of the present policy applies.
    [[nodiscard]] const Policy::Quota* quota() const noexcept { return quota_; }
    // The quota must live until the next call.
    void set_quota(const Policy::Quota* quota) noexcept;

    // False: the quota allows no further request. A request is counted from its handler until it is freed.
    [[nodiscard]] bool take_request() noexcept;
    void give_back_request() noexcept { --requests_; }

    // The bytes of large arguments and results, and of decoded arguments. False: the quota does not allow that many
    // more; this is logged. Any thread.
    [[nodiscard]] bool take_bytes(std::uint64_t bytes) noexcept;
    void give_back_bytes(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

  private:
    void log_refusal() const noexcept;

    const na::Addr source_;
    const std::string name_;  // caller_name()
    std::uint32_t requests_ = 0;
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> bytes_max_{~std::uint64_t{0}};
    mutable ShortMutex mutex_;  // the owner takes it to change quota_, other threads to read it
    const Policy::Quota* quota_ = nullptr;
};

// A connection whose caller has an account.
struct CountedCaller {
    std::shared_ptr<CallerAccount> account;
    Verdicts verdicts;
};

class CallerAccounts {
  public:
    // Returns the account of the caller. `quota`: of the present policy, for this connection. Null: out of memory.
    [[nodiscard]] std::shared_ptr<CallerAccount> of(const na::Addr& source, const Policy::Quota& quota) noexcept;
    // The policy was replaced: its quotas apply from now on. Null: there is no policy.
    void follow(const Policy* policy) noexcept;

  private:
    static constexpr std::size_t unused_max = 64;

    // By caller_name(). Accounts without a connection or request are removed when there are twice as many accounts as
    // after the last removal.
    std::map<std::string, std::shared_ptr<CallerAccount>, std::less<>> accounts_;
    std::size_t look_at_ = unused_max;
};

}  // namespace cinnabar::rpc
