// SPDX-License-Identifier: BSD-3-Clause
#include "retry_budget.hpp"

#include <algorithm>

namespace cinnabar::hl {

RetryBudget::RetryBudget(const RetryPolicy& policy) noexcept
    : peer_most_(policy.peer_tokens * token),
      node_most_(policy.node_tokens * token),
      back_(static_cast<Tokens>(std::clamp(policy.tokens_back, 0.0, 1e6) * token)),
      node_left_(node_most_) {}

bool RetryBudget::spend_of(Tokens& left, Tokens most) const noexcept {
    left -= std::min(left, token);
    return most == 0 || left > most / 2;
}

bool RetryBudget::spend(const na::Addr& peer) {
    const std::lock_guard lock(mutex_);
    const bool node = spend_of(node_left_, node_most_);
    if (peer.empty()) return node;
    auto own = peers_.find(&peer.body());
    if (own == peers_.end()) {
        if (peer_most_ == 0 || peers_.size() >= peers_max) return node;
        own = peers_.emplace(&peer.body(), Account{peer, peer_most_}).first;
    }
    return spend_of(own->second.left, peer_most_) && node;
}

void RetryBudget::earn(const na::Addr& peer) noexcept {
    const std::lock_guard lock(mutex_);
    node_left_ = std::min(node_left_ + back_, node_most_);
    if (peers_.empty() || peer.empty()) return;
    const auto own = peers_.find(&peer.body());
    if (own == peers_.end()) return;
    own->second.left += back_;
    if (own->second.left >= peer_most_) peers_.erase(own);
}

}  // namespace cinnabar::hl
