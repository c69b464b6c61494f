// SPDX-License-Identifier: BSD-3-Clause
// Anti-entropy: finds claims that gossip missed. Two members compare digests and exchange the claims that differ, a
// bounded number at a time, and only after gossip has had time to spread them.
#include "swim/swim.hpp"

#include <algorithm>
#include <bit>

namespace cinnabar::group {
namespace {

// Adds claims about ranks whose digests differ, from a random place on, until `out` has claims_max.
void add_differing(const Table& table, const std::vector<std::uint64_t>& theirs, Random& random,
                   std::vector<Claim>& out) {
    if (theirs.size() != Table::buckets) return;
    const std::size_t first = random.below(Table::buckets);
    for (std::size_t i = 0; i < Table::buckets; ++i) {
        const std::size_t bucket = (first + i) % Table::buckets;
        if (theirs[bucket] == table.digests()[bucket]) continue;
        const auto ranks = static_cast<Rank>((table.end() + Table::buckets - 1) / Table::buckets);
        const Rank begin = static_cast<Rank>(random.below(ranks));
        for (Rank j = 0; j < ranks; ++j) {
            const auto rank = static_cast<Rank>(bucket + std::size_t{(begin + j) % ranks} * Table::buckets);
            if (rank >= table.end() || !table.at(rank).known()) continue;
            if (out.size() == claims_max) return;
            out.push_back(table.claim(rank, true));
        }
    }
}

}  // namespace

void Swim::compare(const Message& message, TimeUs now, Outbox& out) {
    if (message.stamp == table_.stamp()) return;
    const TimeUs quiet = period_us() * (2 * static_cast<TimeUs>(std::bit_width(table_.present())) + 2);
    if (now < last_change_us_ + quiet || now < last_sync_us_ + period_us()) return;
    last_sync_us_ = now;
    Message sync = make(Kind::sync, message.from, no_rank, 0);
    sync.digests.assign(table_.digests().begin(), table_.digests().end());
    out.push_back(std::move(sync));
}

void Swim::on_sync(const Message& message, Outbox& out) {
    if (++sync_answers_ > sync_answers_max) return;
    Message answer = make(Kind::sync_answer, message.from, no_rank, message.sequence);
    add_differing(table_, message.digests, random_, answer.claims);
    answer.digests.assign(table_.digests().begin(), table_.digests().end());
    out.push_back(std::move(answer));
}

void Swim::on_sync_answer(const Message& message, Outbox& out) {
    if (++sync_pushes_ > sync_answers_max) return;
    Message push = make(Kind::sync_push, message.from, no_rank, message.sequence);
    add_differing(table_, message.digests, random_, push.claims);
    if (!push.claims.empty()) out.push_back(std::move(push));
}

}  // namespace cinnabar::group
