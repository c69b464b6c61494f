// SPDX-License-Identifier: BSD-3-Clause
// The knowledge of a process about the members, and which claims of others it accepts.
#include "core.hpp"
#include "tree.hpp"

#include <algorithm>

namespace cinnabar::group {

void Core::learn(const std::vector<Claim>& claims, bool trusted) {
    if (claims.empty()) return;
    std::unique_lock lock(mutex_);
    if (closed_) return;
    Swim::Outbox none;
    for (const Claim& claim : claims) {
        if (!swim_)
            put_followed(claim);
        else if (trusted)
            swim_->learn(claim, now_us());
        else
            swim_->hear(claim, now_us());
    }
    after_turn(lock, none, no_rank, {});
}

void Core::fill_in(const std::vector<Claim>& claims) {
    std::unique_lock lock(mutex_);
    if (closed_ || !swim_) return;
    Swim::Outbox none;
    for (const Claim& claim : claims) swim_->hear(claim, now_us(), false);
    after_turn(lock, none, no_rank, {});
}

// A follower believes the member that it follows.
void Core::put_followed(const Claim& claim) {
    if (claim.rank >= options.swim.members_max || !is_life(claim.incarnation)) return;
    const Entry& known = followed_.at(claim.rank);
    const auto place = [](std::uint32_t life, std::uint64_t whose, State state) {
        return std::tuple(life, whose, !is_present(state));
    };
    const auto now = place(known.incarnation, known.process, known.state);
    const auto then = place(claim.incarnation, claim.process, claim.state);
    const bool again = known.incarnation != claim.incarnation || known.process != claim.process;
    if (known.known() && then <= now && (then != now || known.state == claim.state)) return;
    if (again && !claim.profile && is_present(claim.state)) return;
    Happened happened = Happened::joined;
    if (claim.state == State::left) happened = Happened::left;
    if (claim.state == State::excluded) happened = Happened::excluded;
    if (claim.state == State::suspect && !again) happened = Happened::suspected;
    if (claim.state == State::alive && !again) happened = Happened::trusted;
    followed_changes_.push_back({happened, claim.rank, claim.incarnation});
    followed_.put(claim.rank, {claim.incarnation, claim.refutation, claim.state, claim.process,
                               claim.profile ? claim.profile : known.profile});
}

std::vector<Claim> Core::missing_since(const Stamp& stamp, bool& too_old) const {
    const std::lock_guard lock(mutex_);
    const auto ranks = table().changed_since(stamp);
    too_old = !ranks || ranks->size() > claims_max;
    std::vector<Claim> claims;
    if (too_old) return claims;
    for (const Rank rank : *ranks) claims.push_back(table().claim(rank, true));
    return claims;
}

ViewPage Core::page(const ViewRequest& request) const {
    const std::lock_guard lock(mutex_);
    ViewPage page{group_, table().stamp(), no_rank, false, {}};
    for (Rank rank = request.from; rank < table().end(); ++rank) {
        if (has_rank(request.known, rank) || !table().at(rank).known()) continue;
        if (page.claims.size() == claims_max) {
            page.next = rank;
            break;
        }
        page.claims.push_back(table().claim(rank, true));
    }
    return page;
}

void Core::doubt(Rank rank) {
    const std::lock_guard lock(mutex_);
    if (swim_) swim_->doubt(rank);
}

Result<void> Core::exclude(Rank rank) {
    std::unique_lock lock(mutex_);
    if (closed_) return Error(Errc::closed, "this process has left the group");
    if (!swim_) return Error(Errc::unsupported, "this process is a client: let a member exclude it");
    if (options.swim.rejoin)
        return Error(Errc::unsupported, "it would come back: give all members SwimOptions::rejoin = false");
    if (rank == swim_->self().rank) return Error(Errc::invalid_argument, "this process has that rank: use leave()");
    if (!table().at(rank).present()) return Error(Errc::not_found, "no member has that rank now");
    Swim::Outbox out;
    swim_->exclude(rank, now_us(), out);
    after_turn(lock, out, no_rank, {});
    return {};
}

std::vector<Rank> Core::missing_of_roster(std::size_t ranks) const {
    const std::lock_guard lock(mutex_);
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < ranks; ++rank) {
        if (!table().at(rank).known()) missing.push_back(rank);
    }
    return missing;
}

Core::Route Core::route(Rank rank) {
    const std::lock_guard lock(mutex_);
    const Entry& entry = table().at(rank);
    if (closed_ || !entry.present() || !entry.profile) return {};
    Called& called = called_[rank];
    if (called.address.empty() || !(called.profile == entry.profile)) {
        called.profile = entry.profile;
        called.address = entry.profile.address();
    }
    return {true, entry.incarnation, called.address, called.lost.get_token()};
}

std::vector<Rank> Core::unknown_of(const std::vector<Rank>& ranks, const std::vector<HolderRun>& holders) const {
    const std::lock_guard lock(mutex_);
    std::vector<Rank> unknown;
    for (const Rank rank : ranks) {
        const Entry& entry = table().at(rank);
        const bool known = entry.known() && holder_of(entry.incarnation) >= holder_in(holders, rank);
        if (!known && unknown.size() < claims_max) unknown.push_back(rank);
    }
    return unknown;
}

std::vector<Claim> Core::claims_of(const std::vector<Rank>& ranks) const {
    const std::lock_guard lock(mutex_);
    std::vector<Claim> claims;
    for (const Rank rank : ranks) {
        if (table().at(rank).known() && claims.size() < claims_max) claims.push_back(table().claim(rank, true));
    }
    return claims;
}

// The number is secret, because a process that guesses it can end the call, or answer in place of a member.
CallId Core::next_call() {
    const std::lock_guard lock(mutex_);
    return {process, call_numbers_ ? call_numbers_->next() : secret_u64()};
}

}  // namespace cinnabar::group
