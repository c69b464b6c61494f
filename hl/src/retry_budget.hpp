// SPDX-License-Identifier: BSD-3-Clause
// RetryBudget: the tokens that failed attempts cost, per peer and in all (RetryPolicy). Thread-safe.
#pragma once

#include <cinnabar/hl/retry_policy.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace cinnabar::hl {

class RetryBudget {
  public:
    explicit RetryBudget(const RetryPolicy& policy) noexcept;

    // Call it after a failed attempt. False: no further attempt is allowed now.
    [[nodiscard]] bool spend(const na::Addr& peer);
    // Call after a call that succeeded, or that failed with a code that is not in RetryPolicy::codes.
    void earn(const na::Addr& peer) noexcept;

    // Peers that are tracked because their tokens are not full; for further peers only the node's budget applies.
    static constexpr std::size_t peers_max = 1024;

  private:
    // In thousandths of a token.
    using Tokens = std::uint64_t;
    static constexpr Tokens token = 1000;
    struct Account {
        na::Addr peer;
        Tokens left = 0;
    };
    [[nodiscard]] bool spend_of(Tokens& left, Tokens most) const noexcept;

    const Tokens peer_most_;
    const Tokens node_most_;
    const Tokens back_;
    std::mutex mutex_;
    Tokens node_left_;
    std::unordered_map<const na::AddrBody*, Account> peers_;
};

}  // namespace cinnabar::hl
