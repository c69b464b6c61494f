// SPDX-License-Identifier: BSD-3-Clause
// Pings, both direct and through other members.
#include "swim/swim.hpp"

#include <algorithm>

namespace cinnabar::group {

void Swim::begin_probe(TimeUs now, Outbox& out) {
    probe_ = {};
    probe_.target = targets_.next(table_, random_);
    if (probe_.target == no_rank) return;
    probe_.sequence = ++sequence_;
    probe_.ask_others_us = now + health_.stretched(options_.ping_timeout);
    out.push_back(make(Kind::ping, probe_.target, no_rank, probe_.sequence));
    add_gossip(out.back());
}

void Swim::ask_others(Outbox& out) {
    probe_.ask_others_us = time_never;
    if (probe_.answered || probe_.target == no_rank) return;
    const std::vector<Rank> helpers = targets_.helpers(table_, probe_.target, options_.indirect, random_);
    for (const Rank rank : helpers) {
        out.push_back(make(Kind::ping_request, rank, probe_.target, probe_.sequence));
        add_gossip(out.back());
    }
    probe_.nacks_wanted = static_cast<unsigned>(helpers.size());
}

// Ends the probe; suspects the member if it has not answered. A failed probe also counts against this member's own
// health, once for each missing nack: a member that was asked to ping the target sends a nack if it gets no answer
// either. If nobody was asked although there are others, the probe counts once.
void Swim::end_probe(TimeUs now) {
    if (probe_.target == no_rank) return;
    if (probe_.answered) return health_.improve();
    const unsigned missing = probe_.nacks_wanted - std::min(probe_.nacks, probe_.nacks_wanted);
    health_.worsen(probe_.nacks_wanted == 0 && table_.present() > 2 ? 1 : missing);
    if (table_.at(probe_.target).present()) suspect(probe_.target, self_.rank, 0, now);
}

void Swim::on_ack(const Message& message, TimeUs now, Outbox& out) {
    if (message.sequence == probe_.sequence && message.about == probe_.target) {
        probe_.answered = true;
        probe_.ask_others_us = time_never;
        return;
    }
    const auto ping = relayed_.take_answered(message.from, message.sequence, now);
    if (!ping) return;
    out.push_back(make(Kind::ack, ping->origin, ping->target, ping->origin_sequence));
    add_gossip(out.back());
}

void Swim::on_ping_request(const Message& message, TimeUs now, Outbox& out) {
    if (!table_.at(message.about).known() || message.about == self_.rank) return;
    if (!relayed_.has_room_for(message.from)) return;
    const auto timeout = static_cast<TimeUs>(options_.ping_timeout.count());
    const std::uint32_t sequence = ++sequence_;
    relayed_.add({message.from, message.sequence, message.about, sequence, now + timeout,
                  now + static_cast<TimeUs>(options_.period.count())});
    out.push_back(make(Kind::ping, message.about, no_rank, sequence));
    add_gossip(out.back());
}

// After a network partition each side has excluded the other; without this they would never communicate again.
void Swim::reconnect(Outbox& out) {
    const Rank rank = targets_.excluded(random_);
    if (rank == no_rank) return;
    out.push_back(make(Kind::ping, rank, no_rank, ++sequence_));
    add_gossip(out.back());
}

}  // namespace cinnabar::group
