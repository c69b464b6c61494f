// SPDX-License-Identifier: BSD-3-Clause
// Applies claims to the table. Claims of others never exclude a member that is considered alive: the member is
// suspected first, and has time to refute the suspicion.
#include "swim/swim.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::group {
namespace {

// The maximum number of incarnations by which one claim advances a rank, so that a lying peer cannot use up all
// incarnations at once. If ranks are given again, this is the maximum number of holders instead, because a member that
// was cut off may have missed the lives of several.
constexpr std::uint32_t incarnation_step_max = 1024;
constexpr Rank gap_max = 1024;  // ranks are assigned in order

// Whether the claim is about a later life of the rank than the known one: a higher incarnation, or the same incarnation
// and a higher process number, which decides between two processes that began the same incarnation at once. If the
// known member is present, a claim about another process counts only if that process has the same address, which shows
// that the earlier process is gone.
bool is_of_later_life(const Claim& claim, const Entry& known) noexcept {
    const bool later = claim.incarnation > known.incarnation ||
                       (claim.incarnation == known.incarnation && claim.process > known.process);
    if (!later || !known.present() || claim.process == known.process) return later;
    return claim.profile && claim.profile.has_address_of(known.profile);
}

// Whether the claim says that another process has got the rank of a member that is present here.
bool is_of_later_holder(const Claim& claim, const Entry& known) noexcept {
    return known.present() && holder_of(claim.incarnation) > holder_of(known.incarnation) &&
           !is_of_later_life(claim, known);
}

// Whether the member has refuted, in the same life, what is known of it.
bool is_refuted_by(const Claim& claim, const Entry& known) noexcept {
    return claim.incarnation == known.incarnation && claim.process == known.process &&
           claim.refutation > known.refutation;
}

}  // namespace

bool Swim::plausible(const Claim& claim, Source source) const noexcept {
    if (!is_life(claim.incarnation) || claim.rank >= options_.members_max) return false;
    if (source == Source::joining) return true;
    const Entry& known = table_.at(claim.rank);
    if (!known.known() && claim.rank >= 2 * table_.known() + gap_max) return false;
    const std::uint32_t step = incarnation_step_max * (gone_.gives_again() ? lives_per_holder : 1);
    return claim.incarnation <= known.incarnation + step;
}

void Swim::merge(const Claim& claim, Source source, TimeUs now) {
    if (!plausible(claim, source)) return;
    if (claim.rank == self_.rank) return about_self(claim, now);
    // Another process has been given the rank of a member that is present here, so that member has left, or was cut
    // off. That member gets the shortest time to refute this, because an answer of the new holder says nothing about
    // the member.
    if (gone_.gives_again() && is_of_later_holder(claim, table_.at(claim.rank)))
        return suspect(claim.rank, claim.by == claim.rank ? no_rank : claim.by, ~0u, now);  // not this one's own leave
    const Stamp before = table_.stamp();
    switch (claim.state) {
        case State::alive:
            merge_present(claim);
            break;
        case State::suspect:
            // The refutation ends any suspicion that was begun before it, and what was said about a leave.
            if (source == Source::joining || is_refuted_by(claim, table_.at(claim.rank))) merge_present(claim);
            merge_suspect(claim, now);
            break;
        case State::left:
        case State::excluded:
            merge_gone(claim, source, now);
            break;
    }
    if (table_.stamp() != before) last_change_us_ = now;
}

void Swim::merge_present(const Claim& claim) {
    const Entry& known = table_.at(claim.rank);
    const bool same_process = claim.process == known.process;
    if (same_process && claim.incarnation == known.incarnation) {
        if (!known.present() || claim.refutation <= known.refutation) return;
    } else if (!is_of_later_life(claim, known)) {
        return;
    }
    if (!claim.profile && !same_process) return;  // its address is unknown; anti-entropy will bring it
    suspicions_.end(claim.rank);
    const bool described = static_cast<bool>(claim.profile);
    put(claim.rank,
        {claim.incarnation, claim.refutation, State::alive, claim.process, described ? claim.profile : known.profile},
        described || claim.incarnation != known.incarnation);
}

void Swim::merge_suspect(const Claim& claim, TimeUs now) {
    const Entry& known = table_.at(claim.rank);
    const bool same_life = claim.incarnation == known.incarnation && claim.process == known.process;
    if (!known.present() || !same_life || claim.refutation < known.refutation) return;
    suspect(claim.rank, claim.by, 0, now);
}

void Swim::merge_gone(const Claim& claim, Source source, TimeUs now) {
    const Entry& known = table_.at(claim.rank);
    const bool same_life = claim.incarnation == known.incarnation && claim.process == known.process;
    if (same_life ? !known.present() : !is_of_later_life(claim, known)) return;
    if (source == Source::gossip && known.present()) {
        // Treated as if all members suspected this member: it has the shortest time to refute.
        if (!same_life || claim.refutation < known.refutation) return;
        return suspect(claim.rank, claim.state == State::left ? claim.rank : claim.by, ~0u, now);
    }
    suspicions_.end(claim.rank);
    const bool same_process = claim.process == known.process;
    put(claim.rank,
        {claim.incarnation, claim.refutation, claim.state, claim.process,
         claim.profile ? claim.profile : (same_process ? known.profile : Profile())},
        static_cast<bool>(claim.profile));
}

void Swim::about_self(const Claim& claim, TimeUs now) {
    if (claim.incarnation < self_.incarnation) return;
    const bool other = claim.process != self_.process;
    if (other) {
        const bool loses = claim.incarnation == self_.incarnation && claim.process > self_.process;
        const bool goes_on = is_present(claim.state) && conflict_.goes_on_too_long(now, options_.period);
        if (!self_.owns_rank && (loses || goes_on)) {
            displaced_ = true;
            return;
        }
        static constinit LogLimit lines;
        if (goes_on) {
            const std::string peer = claim.profile ? claim.profile.address().log_name() : std::string("unknown");
            log_limited(lines, LogLevel::warning, "group", {peer_field(peer), LogField("rank", self_.rank)},
                        "another process keeps claiming rank %u, which the roster gives to this one: start only one",
                        self_.rank);
        }
        return outbid(claim.incarnation);
    }
    if (claim.state == State::suspect && claim.incarnation == self_.incarnation) {
        if (claim.refutation < refutation_) return;
        health_.worsen(1);
        if (claim.refutation > ~std::uint32_t{0} - 2) return outbid(claim.incarnation);
        refutation_ = claim.refutation + 1;
        return put(self_.rank, {self_.incarnation, refutation_, State::alive, self_.process, self_.profile}, false);
    }
    const bool gone = !is_present(claim.state);
    if (gone && !options_.rejoin) {
        displaced_ = true;
        return;
    }
    if (gone || claim.incarnation > self_.incarnation) outbid(claim.incarnation);
}

// Takes the incarnation after `incarnation`. Gives up the rank if there is no further incarnation (incarnation_max), or
// if ranks are given again and the next incarnation belongs to a later holder: this process was then gone for so long
// that its rank was given away.
void Swim::outbid(std::uint32_t incarnation) {
    const bool given_away =
        gone_.gives_again() && !self_.owns_rank && holder_of(incarnation + 1) != holder_of(self_.incarnation);
    if (incarnation >= incarnation_max || given_away) {
        displaced_ = true;
        return;
    }
    self_.incarnation = incarnation + 1;
    refutation_ = 0;
    put(self_.rank, {self_.incarnation, 0, State::alive, self_.process, self_.profile}, true);
}

void Swim::put(Rank rank, Entry entry, bool with_profile) {
    const Entry before = table_.at(rank);
    table_.put(rank, std::move(entry));
    changes_.note(rank, before, table_.at(rank));
    targets_.note(rank, before, table_.at(rank));
    gone_.note(rank, before, table_.at(rank), last_tick_us_);
    gossip_.add(rank, table_.at(rank).incarnation, with_profile);
}

}  // namespace cinnabar::group
