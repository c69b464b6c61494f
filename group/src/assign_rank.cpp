// SPDX-License-Identifier: BSD-3-Clause
// A process that joins is given a rank by the member with the lowest present rank, or handed on to that member.
#include "core.hpp"

namespace cinnabar::group {

// Only the lowest present rank assigns ranks, so that no rank is assigned twice.
Result<JoinAnswer> Core::accept(const JoinRequest& request, na::Addr& hand_on) {
    std::unique_lock lock(mutex_);
    if (closed_ || !swim_ || swim_->displaced()) return Errc::shutting_down;
    if (!Profile::can_have(request.address, request.labels) || request.process == 0)
        return Error(Errc::invalid_argument, "a member must listen, and its labels be few and short");
    if (request.wanted != no_rank && request.wanted >= roster_)
        return Error(Errc::invalid_argument, "no roster of this group assigns that rank");
    const Table& known = swim_->table();
    Rank first = no_rank;
    for (Rank each = 0; each < known.end(); ++each) {
        const Entry& entry = known.at(each);
        if (!entry.present()) continue;
        if (entry.process == request.process) return JoinAnswer{group_, each, entry.incarnation};
        if (first == no_rank) first = each;
    }
    Rank rank = request.wanted;
    const bool elsewhere = rank == no_rank && first != swim_->self().rank && request.hops < 3;
    if (elsewhere && known.at(first).profile) {
        hand_on = known.at(first).profile.address();
        return Errc::again;
    }
    const bool chosen_here = rank == no_rank;
    if (chosen_here) rank = swim_->free_rank(static_cast<Rank>(roster_), now_us());
    if (rank >= options.swim.members_max)
        return Error(Errc::too_large,
                     "the group has assigned all its ranks; see SwimOptions::members_max and reuse_ranks_after");
    Profile profile(request.address, request.labels, request.side_loop);
    const Entry& before = known.at(rank);
    const bool own = rank == swim_->self().rank;  // never given away, whatever address the request names
    if (own || (before.present() && !before.profile.has_address_of(profile))) {
        swim_->doubt(rank);
        return Error(Errc::busy, "another process has that rank; it is free when that one is known to be gone");
    }
    const bool given_again = chosen_here && before.known();
    const std::uint32_t incarnation =
        given_again ? first_life_of(holder_of(before.incarnation) + 1) : before.incarnation + 1;
    if (!is_life(incarnation))
        return Error(Errc::too_large, "that rank has used up its incarnations: take another one");
    swim_->accept(rank, incarnation, request.process, std::move(profile), now_us());
    Swim::Outbox none;
    const JoinAnswer answer{group_, rank, incarnation};
    after_turn(lock, none, no_rank, {});
    return answer;
}

}  // namespace cinnabar::group
