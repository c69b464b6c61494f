// SPDX-License-Identifier: BSD-3-Clause
#include "swim/relayed_pings.hpp"

#include <algorithm>

namespace cinnabar::group {

bool RelayedPings::has_room_for(Rank origin) const noexcept {
    if (pings_.size() >= pings_max) return false;
    const auto of_origin =
        std::count_if(pings_.begin(), pings_.end(), [&](const RelayedPing& each) { return each.origin == origin; });
    return of_origin < pings_of_one_max;
}

std::optional<RelayedPing> RelayedPings::take_answered(Rank target, std::uint32_t sequence, TimeUs now) {
    const auto found = std::find_if(pings_.begin(), pings_.end(), [&](const RelayedPing& each) {
        return each.sequence == sequence && each.target == target;
    });
    if (found == pings_.end() || now >= found->ends_us) return std::nullopt;
    const RelayedPing answered = *found;
    pings_.erase(found);
    return answered;
}

std::vector<RelayedPing> RelayedPings::take_unanswered(TimeUs now) {
    std::vector<RelayedPing> unanswered;
    for (RelayedPing& ping : pings_) {
        if (now < ping.nack_us) continue;
        unanswered.push_back(ping);
        ping.nack_us = time_never;
    }
    std::erase_if(pings_, [now](const RelayedPing& ping) { return now >= ping.ends_us; });
    return unanswered;
}

TimeUs RelayedPings::next_due_us() const noexcept {
    TimeUs next = time_never;
    for (const RelayedPing& ping : pings_) next = std::min({next, ping.nack_us, ping.ends_us});
    return next;
}

}  // namespace cinnabar::group
