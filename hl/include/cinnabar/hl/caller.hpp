// SPDX-License-Identifier: BSD-3-Clause
// Caller: makes calls like a node, but retries calls that fail (RetryPolicy) and limits how many are in progress at a
// time (QuotaOptions). Node::call does neither, and does not pay for either.
//
//     inline constexpr cinnabar::Rpc<Value(Key)> get{"get", cinnabar::idempotent};
//     Caller caller(node, {.retry = {.attempts = 5}});
//     Result<Value> value = co_await caller.call(get, peer, key, 2s);
//
// A call is sent in one of the four ways of Node::call. One deadline covers all its attempts and the pauses between
// them. The arguments are copied, and encoded again for each attempt. The memory that a view among the arguments refers
// to must live until the call has ended. A call that fails ends with the error of the last attempt. The text of the
// error lists the last 16 attempts and says why no further attempt was made: "...; 2 attempts: peer lost, sent, 2.1 ms;
// refused, not sent, 0.2 ms; no more: ...".
//
// A Caller is a handle; copies share budgets and quotas. Thread-safe. The Caller and its calls must end before the
// node.
#pragma once

#include <cinnabar/hl/calls.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/retried.hpp>
#include <cinnabar/hl/retry_policy.hpp>

#include <cstdint>
#include <utility>

namespace cinnabar::hl {

struct CallerOptions {
    RetryPolicy retry = {};
    QuotaOptions quota = {};
    std::uint64_t seed = 0;  // for random choices; 0: a random seed
};

struct CallerCounts {
    std::uint64_t calls = 0;          // that have ended
    std::uint64_t attempts = 0;       // made for these calls
    std::uint64_t failed = 0;         // calls without a result
    std::uint64_t out_of_budget = 0;  // failed calls that only the retry budget kept from another attempt
    std::uint32_t waiting = 0;        // for a quota, now
};

class CINNABAR_API Caller : public BasicCalls<detail::CallerCalls> {
  public:
    explicit Caller(NodeRef node, CallerOptions options = {});

    // Returns a copy of this Caller that makes its calls with this priority. The priority of a new Caller is `normal`.
    // Priorities matter only when calls wait for a quota.
    [[nodiscard]] Caller with(Priority priority) const;

    [[nodiscard]] CallerCounts counts() const noexcept;

  private:
    explicit Caller(detail::CallerRef core) noexcept : BasicCalls(std::move(core)) {}
};

}  // namespace cinnabar::hl
