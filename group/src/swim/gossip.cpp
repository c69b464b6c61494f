// SPDX-License-Identifier: BSD-3-Clause
#include "swim/gossip.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cinnabar::group {
namespace {

std::size_t bytes_of(const Claim& claim) noexcept { return 32 + claim.profile.encoded().size(); }

}  // namespace

// A rank is taken from the front of one list and appended to the next, so each list stays in the order of appending.
void Gossip::append(Rank rank, Waiting& waiting) {
    if (waiting.sends >= lists_.size()) lists_.resize(std::size_t{waiting.sends} + 1);
    Ends& list = lists_[waiting.sends];
    waiting.before = std::exchange(list.back, rank);
    waiting.after = no_rank;
    (waiting.before == no_rank ? list.front : waiting_.find(waiting.before)->after) = rank;
}

void Gossip::unlink(const Waiting& waiting) {
    Ends& list = lists_[waiting.sends];
    (waiting.before == no_rank ? list.front : waiting_.find(waiting.before)->after) = waiting.after;
    (waiting.after == no_rank ? list.back : waiting_.find(waiting.after)->before) = waiting.before;
}

void Gossip::add(Rank rank, std::uint32_t incarnation, bool described, Rank by) {
    if (const Waiting* const earlier = waiting_.find(rank)) {
        if (earlier->incarnation == incarnation) described = described || earlier->described;
        unlink(*earlier);
    }
    Waiting& waiting = waiting_[rank];
    waiting = {no_rank, no_rank, by, incarnation, 0, described};
    append(rank, waiting);
}

void Gossip::drop(Rank rank) {
    const Waiting* const waiting = waiting_.find(rank);
    if (!waiting) return;
    unlink(*waiting);
    waiting_.erase(rank);
}

// Returns the ranks to be told of next. Adds their claims to `out`.
std::vector<Rank> Gossip::choose(const Table& table, std::vector<Claim>& out, std::size_t count_max,
                                 std::size_t bytes_max) const {
    std::vector<Rank> chosen;
    std::size_t bytes = 0;
    for (const Ends& list : lists_) {
        for (Rank rank = list.front; rank != no_rank; rank = waiting_.find(rank)->after) {
            const Waiting& waiting = *waiting_.find(rank);
            Claim claim = table.claim(rank, waiting.described);
            claim.by = waiting.by;
            bytes += bytes_of(claim);
            if (chosen.size() == count_max || (bytes > bytes_max && !chosen.empty())) return chosen;
            out.push_back(std::move(claim));
            chosen.push_back(rank);
        }
    }
    return chosen;
}

void Gossip::take(const Table& table, std::vector<Claim>& out, std::size_t count_max, std::size_t bytes_max,
                  unsigned sends_max) {
    const unsigned most = std::min<unsigned>(sends_max, std::numeric_limits<std::uint16_t>::max());
    for (const Rank rank : choose(table, out, count_max, bytes_max)) {
        Waiting& waiting = *waiting_.find(rank);
        unlink(waiting);
        if (++waiting.sends >= most)
            waiting_.erase(rank);
        else
            append(rank, waiting);
    }
}

}  // namespace cinnabar::group
