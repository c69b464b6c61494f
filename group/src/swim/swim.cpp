// SPDX-License-Identifier: BSD-3-Clause
#include "swim/swim.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace cinnabar::group {
namespace {

// Before a rank is given again, its holder must have had time to hear that it was excluded, and all others too.
constexpr int reuse_periods_min = 32;

// Whether the sender's rank was given to another process, of which the sender has not heard.
bool is_of_former_holder(const Message& message, const Entry& holder) noexcept {
    return holder.present() && holder_of(message.from_incarnation) < holder_of(holder.incarnation);
}

}  // namespace

Swim::Swim(const SwimOptions& options, Self self, Table known, std::uint64_t seed, TimeUs now)
    : options_(options),
      self_(std::move(self)),
      table_(std::move(known)),
      random_(seed),
      health_(options.health_max),
      targets_(self_.rank),
      last_tick_us_(now),
      last_heard_us_(now),
      last_change_us_(now),
      last_sync_us_(now) {
    options_.period = std::max(options_.period, Microseconds(10'000));
    if (options_.ping_timeout.count() <= 0) options_.ping_timeout = options_.period / 3;
    if (options_.reuse_ranks_after.count() > 0) {
        gone_.give_again_after(std::max(options_.reuse_ranks_after, options_.period * reuse_periods_min));
        for (Rank rank = 0; rank < table_.end(); ++rank) gone_.note(rank, {}, table_.at(rank), now);
    }
    sequence_ = static_cast<std::uint32_t>(random_.next());
    period_ends_us_ = after(now, self_.quiet) + random_.below(static_cast<std::uint64_t>(options_.period.count()));
    const Entry& mine = table_.at(self_.rank);
    const bool there = mine.present() && mine.process == self_.process && mine.incarnation == self_.incarnation;
    const bool simulated = !self_.profile;  // then all tables have all members from the start
    if (there && (self_.known_to_all || simulated)) return;
    put(self_.rank, {self_.incarnation, 0, State::alive, self_.process, self_.profile}, true);
    (void)changes_.take();
}

Message Swim::make(Kind kind, Rank to, Rank about, std::uint32_t sequence) {
    return {self_.group, kind, self_.rank, self_.incarnation, to, about, sequence, table_.stamp(), {}, {}};
}

// If the receiver is not considered alive here, tells the receiver so first, so that it can refute this.
void Swim::add_gossip(Message& message) {
    const Entry& to = table_.at(message.to);
    if (to.known() && to.state != State::alive) message.claims.push_back(table_.claim(message.to, false));
    constexpr std::size_t bytes_max = 2048;
    const unsigned sends_max = options_.transmit_factor * static_cast<unsigned>(std::bit_width(table_.present()));
    gossip_.take(table_, message.claims, options_.piggyback_max, bytes_max, sends_max);
}

TimeUs Swim::next_due_us() const noexcept {
    return std::min({period_ends_us_, probe_.ask_others_us, suspicions_.next_due_us(), relayed_.next_due_us()});
}

// If this process was stopped or got no CPU time, it must not blame others for its own silence.
void Swim::catch_up(TimeUs now) {
    const TimeUs due = std::max(next_due_us(), last_tick_us_);
    last_tick_us_ = now;
    if (due == time_never || now < due + static_cast<TimeUs>(options_.period.count())) return;
    suspicions_.restart(now);
    gone_.pass_over(due, now, options_.period * reuse_periods_min);
    probe_ = {};
    relayed_.clear();
    period_ends_us_ = now;
    last_heard_us_ = std::max(last_heard_us_, now - std::min(now, period_us()));
    health_.worsen(1);
}

void Swim::tick(TimeUs now, Outbox& out) {
    if (displaced_ || left_) return;
    catch_up(now);
    if (now >= probe_.ask_others_us) ask_others(out);
    for (const RelayedPing& ping : relayed_.take_unanswered(now))
        out.push_back(make(Kind::nack, ping.origin, ping.target, ping.origin_sequence));
    if (now >= period_ends_us_) {
        end_probe(now);
        sync_answers_ = 0;
        sync_pushes_ = 0;
        period_ends_us_ = now + period_us();
        begin_probe(now, out);
        if (++periods_ % std::max(options_.reconnect_periods, 1u) == 0) reconnect(out);
    }
    expire_suspicions(now);
}

void Swim::receive(const Message& message, TimeUs now, Outbox& out) {
    if (displaced_ || left_) return;
    if (message.from == self_.rank || message.to != self_.rank) return;
    catch_up(now);
    last_heard_us_ = now;
    if (cut_off_since_us_ != time_never) {
        cut_off_since_us_ = time_never;
        suspicions_.extend(now);
    }
    const TimeUs last_change_us = last_change_us_;
    for (const Claim& claim : message.claims)
        merge(claim, claim.rank == message.from ? Source::itself : Source::gossip, now);
    // Claims from anti-entropy do not postpone the next round of it.
    if (message.kind == Kind::sync_answer || message.kind == Kind::sync_push) last_change_us_ = last_change_us;
    if (displaced_) return;
    switch (message.kind) {
        case Kind::ping:
            out.push_back(make(Kind::ack, message.from, self_.rank, message.sequence));
            if (is_of_former_holder(message, table_.at(message.from)))
                out.back().claims.push_back(table_.claim(message.from, true));
            add_gossip(out.back());
            break;
        case Kind::ack:
            on_ack(message, now, out);
            break;
        case Kind::ping_request:
            on_ping_request(message, now, out);
            break;
        case Kind::nack:
            if (message.sequence == probe_.sequence && message.about == probe_.target) ++probe_.nacks;
            break;
        case Kind::sync:
            on_sync(message, out);
            break;
        case Kind::sync_answer:
            on_sync_answer(message, out);
            break;
        case Kind::sync_push:
            break;
    }
    if (message.kind == Kind::ping || message.kind == Kind::ack) compare(message, now, out);
}

// Prefers ranks above this member's own, because the member with the lowest rank assigns ranks: a new member with a
// lower rank than this one would have to assign them without knowing for how long other ranks have been gone.
Rank Swim::free_rank(Rank first, TimeUs now) {
    catch_up(now);  // a request to join may be the first that this process does after it was stopped
    Rank again = gone_.longest(std::max(first, self_.rank + 1), now);
    if (again == no_rank) again = gone_.longest(first, now);
    if (again != no_rank) return again;
    return table_.end() < options_.members_max ? table_.end() : no_rank;
}

// Takes in a claim without spreading it, because the member that sent the claim got it by gossip, which spreads it
// anyway. If a joining member spread all that it learns, new claims would wait in its gossip behind a claim about each
// member.
void Swim::learn(const Claim& claim, TimeUs now) {
    const Stamp before = table_.stamp();
    merge(claim, Source::joining, now);
    if (claim.rank != self_.rank && table_.stamp() != before) gossip_.drop(claim.rank);
}

void Swim::hear(const Claim& claim, TimeUs now, bool spreads_new) {
    const bool is_new = !table_.at(claim.rank).known();
    merge(claim, Source::gossip, now);
    if (is_new && !spreads_new && claim.rank != self_.rank) gossip_.drop(claim.rank);
}

void Swim::accept(Rank rank, std::uint32_t incarnation, std::uint64_t process, Profile profile, TimeUs now) {
    last_change_us_ = now;
    suspicions_.end(rank);
    put(rank, {incarnation, 0, State::alive, process, std::move(profile)}, true);
}

void Swim::leave(TimeUs now, Outbox& out) {
    if (displaced_ || left_) return;
    last_change_us_ = now;
    Entry entry = table_.at(self_.rank);
    entry.state = State::left;
    put(self_.rank, entry, false);
    const Claim goodbye = table_.claim(self_.rank, false);
    std::vector<Rank> others;
    for (Rank rank = 0; rank < table_.end(); ++rank) {
        if (rank != self_.rank && table_.at(rank).present()) others.push_back(rank);
    }
    // In random order: members whose ranks follow each other, such as those of one host, often leave together.
    const std::size_t tells = others.size() <= leave_tells ? others.size() : leave_tells_of_many;
    for (std::size_t i = 0; i < tells; ++i) {
        std::swap(others[i], others[i + random_.below(others.size() - i)]);
        out.push_back(make(Kind::sync_push, others[i], self_.rank, 0));
        out.back().claims.push_back(goodbye);
    }
    left_ = true;
}

}  // namespace cinnabar::group
