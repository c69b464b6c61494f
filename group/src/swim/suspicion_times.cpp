// SPDX-License-Identifier: BSD-3-Clause
// Keeps for each suspect when the suspicion began and who has confirmed it, and computes when the time to refute it is
// over.
#include "swim/suspicion_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cinnabar::group {

TimeUs SuspicionTimes::Suspect::due_us() const noexcept {
    if (confirmations >= wanted) return since + limits.least;
    const double part = std::log(confirmations + 1.0) / std::log(wanted + 1.0);
    const auto shorter = static_cast<TimeUs>(part * static_cast<double>(limits.most - limits.least));
    return since + std::max(limits.least, limits.most - shorter);
}

void SuspicionTimes::begin(Rank rank, Rank by, Limits limits, unsigned wanted, TimeUs now) {
    Suspect suspect{now, limits, std::min(wanted, confirmations_max)};
    suspect.by[0] = by;
    suspects_.insert_or_assign(rank, suspect);
}

bool SuspicionTimes::confirm(Rank rank, Rank by) {
    const auto at = suspects_.find(rank);
    if (at == suspects_.end()) return false;
    Suspect& suspect = at->second;
    const auto end = suspect.by.begin() + suspect.confirmations + 1;
    if (suspect.confirmations >= suspect.wanted || std::find(suspect.by.begin(), end, by) != end) return false;
    suspect.by[++suspect.confirmations] = by;
    return true;
}

void SuspicionTimes::hasten(Rank rank) {
    if (const auto at = suspects_.find(rank); at != suspects_.end()) at->second.confirmations = at->second.wanted;
}

bool SuspicionTimes::note_leave(Rank rank) {
    const auto at = suspects_.find(rank);
    return at != suspects_.end() && !std::exchange(at->second.leaves, true);
}

bool SuspicionTimes::leaves(Rank rank) const {
    const auto at = suspects_.find(rank);
    return at != suspects_.end() && at->second.leaves;
}

std::vector<Rank> SuspicionTimes::due(TimeUs now) const {
    std::vector<Rank> ranks;
    for (const auto& [rank, suspect] : suspects_) {
        if (suspect.due_us() <= now) ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

TimeUs SuspicionTimes::next_due_us() const noexcept {
    TimeUs next = time_never;
    for (const auto& [rank, suspect] : suspects_) next = std::min(next, suspect.due_us());
    return next;
}

void SuspicionTimes::extend(TimeUs now) noexcept {
    for (auto& [rank, suspect] : suspects_) {
        if (suspect.extensions == extensions_max) continue;
        ++suspect.extensions;
        suspect.since = now;
    }
}

void SuspicionTimes::restart(TimeUs now) noexcept {
    for (auto& [rank, suspect] : suspects_) suspect.since = now;
}

}  // namespace cinnabar::group
