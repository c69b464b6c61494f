// SPDX-License-Identifier: BSD-3-Clause
#include "swim/table.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

std::uint64_t steps_of(const Entry& entry) noexcept {
    return 2 * std::uint64_t{entry.incarnation} - (is_present(entry.state) ? 1 : 0);
}

std::uint64_t digest_of(Rank rank, const Entry& entry) noexcept {
    const std::uint64_t place = Random(std::uint64_t{rank} << 32 | entry.incarnation).next();
    return Random(place ^ entry.process ^ (is_present(entry.state) ? 0 : ~std::uint64_t{0})).next();
}

bool same_in_view(const Entry& a, const Entry& b) noexcept {
    return a.incarnation == b.incarnation && is_present(a.state) == is_present(b.state) && a.process == b.process;
}

}  // namespace

const Entry& Table::at(Rank rank) const noexcept {
    static const Entry unknown;
    if (const Entry* const own = own_.find(rank)) return *own;
    return shared_ && rank < shared_->size() ? (*shared_)[rank] : unknown;
}

void Table::count(Rank rank, const Entry& entry, bool add) noexcept {
    if (!entry.known()) return;
    const std::uint64_t digest = digest_of(rank, entry);
    digests_[rank % buckets] += add ? digest : -digest;
    stamp_.digest += add ? digest : -digest;
    stamp_.version += add ? steps_of(entry) : -steps_of(entry);
    known_ += add ? 1 : std::size_t(-1);
    if (entry.present()) present_ += add ? 1 : std::size_t(-1);
}

void Table::put(Rank rank, Entry entry) {
    const Entry& before = at(rank);
    if (!same_in_view(before, entry)) {
        changes_.push_back({stamp_, rank});
        if (changes_.size() > changes_kept) changes_.pop_front();
    }
    count(rank, before, false);
    count(rank, entry, true);
    end_ = std::max(end_, rank + 1);
    own_[rank] = std::move(entry);
}

void Table::share() {
    auto all = std::make_shared<std::vector<Entry>>();
    all->reserve(end_);
    for (Rank rank = 0; rank < end_; ++rank) all->push_back(at(rank));
    shared_ = std::move(all);
    own_ = {};
    changes_.clear();
}

std::optional<std::vector<Rank>> Table::changed_since(const Stamp& stamp) const {
    if (stamp == stamp_) return std::vector<Rank>{};
    const auto from =
        std::find_if(changes_.begin(), changes_.end(), [&](const Changed& change) { return change.before == stamp; });
    if (from == changes_.end()) return {};
    std::vector<Rank> ranks;
    for (auto change = from; change != changes_.end(); ++change) ranks.push_back(change->rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

Claim Table::claim(Rank rank, bool with_profile) const {
    const Entry& entry = at(rank);
    return {rank,
            entry.incarnation,
            entry.refutation,
            entry.state,
            entry.process,
            no_rank,
            with_profile ? entry.profile : Profile()};
}

}  // namespace cinnabar::group
