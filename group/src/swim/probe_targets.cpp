// SPDX-License-Identifier: BSD-3-Clause
#include "swim/probe_targets.hpp"

#include <algorithm>

namespace cinnabar::group {

void ProbeTargets::doubt(const Table& table, Rank rank) {
    if (!may_ping(table, rank) || doubts_.size() >= doubts_max) return;
    if (std::find(doubts_.begin(), doubts_.end(), rank) == doubts_.end()) doubts_.push_back(rank);
}

Rank ProbeTargets::next(const Table& table, Random& random) {
    while (!doubts_.empty()) {
        const Rank doubted = doubts_.front();
        doubts_.pop_front();
        if (may_ping(table, doubted)) return doubted;
    }
    for (Rank tried = 0; tried < table.end(); ++tried) {
        const Rank rank = order_.next(table.end(), random);
        if (may_ping(table, rank)) return rank;
    }
    return no_rank;
}

// Returns a random member that may ping the target for this one. A few random attempts are enough if most ranks are
// present; otherwise takes the first suitable rank after a random one.
Rank ProbeTargets::random_helper(const Table& table, Rank target, const std::vector<Rank>& chosen,
                                 Random& random) const {
    const auto may_help = [&](Rank rank) {
        return rank != target && may_ping(table, rank) && std::find(chosen.begin(), chosen.end(), rank) == chosen.end();
    };
    for (int attempt = 0; attempt < 16; ++attempt) {
        const Rank rank = static_cast<Rank>(random.below(table.end()));
        if (may_help(rank)) return rank;
    }
    const Rank first = static_cast<Rank>(random.below(table.end()));
    for (Rank i = 0; i < table.end(); ++i) {
        if (const Rank rank = (first + i) % table.end(); may_help(rank)) return rank;
    }
    return no_rank;
}

std::vector<Rank> ProbeTargets::helpers(const Table& table, Rank target, unsigned count, Random& random) const {
    std::vector<Rank> chosen;
    for (unsigned i = 0; i < count; ++i) {
        const Rank rank = random_helper(table, target, chosen, random);
        if (rank == no_rank) break;
        chosen.push_back(rank);
    }
    return chosen;
}

Rank ProbeTargets::excluded(Random& random) const {
    return excluded_.empty() ? no_rank : excluded_[random.below(excluded_.size())];
}

void ProbeTargets::note(Rank rank, const Entry& before, const Entry& now) {
    if (before.state == State::excluded && before.known()) std::erase(excluded_, rank);
    if (now.state == State::excluded) excluded_.push_back(rank);
}

}  // namespace cinnabar::group
