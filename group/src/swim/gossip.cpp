// SPDX-License-Identifier: BSD-3-Clause
#include "swim/gossip.hpp"

namespace cinnabar::group {
namespace {

std::size_t bytes_of(const Claim& claim) noexcept { return 32 + claim.profile.encoded().size(); }

}  // namespace

void Gossip::add(Claim claim) {
    const Rank rank = claim.rank;
    if (const auto before = claims_.find(rank); before != claims_.end()) {
        if (!claim.profile && claim.incarnation == before->second.claim.incarnation)
            claim.profile = before->second.claim.profile;
        drop(rank);
    }
    const SendOrder order{0, next_++};
    order_.emplace(order, rank);
    claims_.emplace(rank, Waiting{std::move(claim), order});
}

void Gossip::drop(Rank rank) {
    const auto at = claims_.find(rank);
    if (at == claims_.end()) return;
    order_.erase(at->second.order);
    claims_.erase(at);
}

void Gossip::take(std::vector<Claim>& out, std::size_t count_max, std::size_t bytes_max, unsigned sends_max) {
    std::vector<Rank> taken;
    std::size_t bytes = 0;
    for (const auto& [order, rank] : order_) {
        const Claim& claim = claims_.at(rank).claim;
        bytes += bytes_of(claim);
        if (taken.size() == count_max || (bytes > bytes_max && !taken.empty())) break;
        out.push_back(claim);
        taken.push_back(rank);
    }
    for (const Rank rank : taken) {
        const auto at = claims_.find(rank);
        SendOrder& order = at->second.order;
        order_.erase(order);
        if (++order.first >= sends_max) {
            claims_.erase(at);
        } else {
            order_.emplace(order, rank);
        }
    }
}

}  // namespace cinnabar::group
