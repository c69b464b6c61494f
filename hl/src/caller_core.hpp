// SPDX-License-Identifier: BSD-3-Clause
// CallerCore: the state that all calls of a Caller share. Thread-safe.
#pragma once

#include "outgoing_quota.hpp"
#include "retry_budget.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/caller.hpp>

#include <algorithm>
#include <atomic>

namespace cinnabar::hl {

class CallerCore {
  public:
    CallerCore(NodeCore& of, const CallerOptions& options)
        : node(of), retry(options.retry), budget(options.retry), quota(options.quota), seed_(options.seed) {
        if (seed_ == 0) seed_ = secret_u64();
        retry.attempts = std::clamp(retry.attempts, 1u, attempts_max);
    }

    // Per call, including those that RetryPolicy does not count.
    static constexpr std::uint32_t attempts_max = 64;

    // Uniform in [0, bound).
    [[nodiscard]] std::uint64_t chance_below(std::uint64_t bound) noexcept {
        return Random(seed_ + (drawn_.fetch_add(1, std::memory_order_relaxed) << 20)).below(bound);
    }

    NodeCore& node;
    RetryPolicy retry;
    RetryBudget budget;
    OutgoingQuota quota;
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> attempts{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> out_of_budget{0};

  private:
    std::uint64_t seed_;
    std::atomic<std::uint64_t> drawn_{0};
};

}  // namespace cinnabar::hl
