// SPDX-License-Identifier: BSD-3-Clause
// Caller: makes calls as a node does, and makes those again that have failed (RetryPolicy), and lets only so many be
// under way at a time (QuotaOptions). Node::call does neither, and pays nothing for it.
//
//     inline constexpr cinnabar::Rpc<Value(Key)> get{"get", cinnabar::idempotent};
//     Caller caller(node, {.retry = {.attempts = 5}});
//     Result<Value> value = co_await caller.call(get, peer, key, 2s);
//
// A call ends in the four ways of Node::call, after one deadline for all attempts and the time that it waits between
// them. Its arguments are copied, and encoded anew for each attempt; what views among them point to must live until it
// has ended. Its error is that of the last attempt, says why there was no further one, and tells of each: "... 3
// attempts: refused while connecting, 1 ms; ...".
//
// A handle; copies share budgets and quotas. Thread-safe. Must be gone, with its calls, before its node.
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
    std::uint64_t seed = 0;  // of what is left to chance; 0: a random one
};

struct CallerCounts {
    std::uint64_t calls = 0;          // that have ended
    std::uint64_t attempts = 0;       // that were made for them
    std::uint64_t failed = 0;         // calls that ended without a result
    std::uint64_t out_of_budget = 0;  // of those, by what the budget forbade
    std::uint32_t waiting = 0;        // for others to end, now
};

class CINNABAR_API Caller : public BasicCalls<detail::CallerCalls> {
  public:
    explicit Caller(NodeRef node, CallerOptions options = {});

    // The same caller with another priority for the calls made by it; `normal` at first. It counts where calls wait for
    // others to end.
    [[nodiscard]] Caller with(Priority priority) const;

    [[nodiscard]] CallerCounts counts() const noexcept;

  private:
    explicit Caller(detail::CallerRef core) noexcept : BasicCalls(std::move(core)) {}
};

}  // namespace cinnabar::hl
