// SPDX-License-Identifier: BSD-3-Clause
#include "swim_world.hpp"

#include <algorithm>

namespace cinnabar::test {

using group::Rank;
using group::Swim;

SwimWorld::SwimWorld(std::size_t members, const group::SwimOptions& options, const SwimClimate& climate,
                     std::uint64_t seed)
    : climate_(climate), random_(seed) {
    group::Table table;
    for (Rank rank = 0; rank < members; ++rank) table.put(rank, {1, 0, group::State::alive, rank + 1, {}});
    table.share();
    hosts_.resize(members);
    for (Rank rank = 0; rank < members; ++rank) {
        Swim::Self self{1, rank, 1, rank + 1, {}};
        hosts_[rank].swim = std::make_unique<Swim>(options, self, table, random_.next(), now_);
        hosts_[rank].slow = random_.below(100) < climate.slow_per_cent;
        after_turn(rank);
    }
}

void SwimWorld::post(TimeUs at, Rank to, std::shared_ptr<const group::Message> message) {
    queue_.push({at, next_++, to, std::move(message)});
}

void SwimWorld::run_for(TimeUs span) {
    const TimeUs end = now_ + span;
    while (!queue_.empty() && queue_.top().at <= end) {
        const Arrival arrival = queue_.top();
        queue_.pop();
        now_ = std::max(now_, arrival.at);
        arrive(arrival);
    }
    now_ = end;
}

void SwimWorld::arrive(const Arrival& arrival) {
    Host& host = hosts_[arrival.to];
    if (host.dead) return;
    if (now_ < host.stopped_until) return post(host.stopped_until, arrival.to, arrival.message);
    Swim::Outbox out;
    if (arrival.message) {
        host.swim->receive(*arrival.message, now_, out);
    } else {
        if (arrival.at != host.tick_at && host.tick_at > now_) return;  // a later tick was scheduled
        host.tick_at = time_never;
        host.swim->tick(now_, out);
    }
    send(arrival.to, out);
    after_turn(arrival.to);
}

void SwimWorld::send(Rank from, Swim::Outbox& out) {
    for (group::Message& message : out) {
        if (on_send) on_send(message);
        ++messages_;
        if (message.to >= hosts_.size() || hosts_[from].side != hosts_[message.to].side) continue;
        if (random_.below(1000) < climate_.loss_per_mille) continue;
        const TimeUs spread = climate_.latency_max_us - climate_.latency_min_us + 1;
        TimeUs at = now_ + climate_.latency_min_us + random_.below(spread);
        if (hosts_[from].slow) at += random_.below(climate_.slow_us);
        if (hosts_[message.to].slow) at += random_.below(climate_.slow_us);
        const Rank to = message.to;
        post(at, to, std::make_shared<const group::Message>(std::move(message)));
    }
}

void SwimWorld::after_turn(Rank rank) {
    Host& host = hosts_[rank];
    for (const group::Change& change : host.swim->take_changes()) {
        if (on_change) on_change(rank, change);
    }
    if (host.swim->displaced()) return;  // its process has left
    const TimeUs due = std::max(host.swim->next_due_us(), now_ + 1);
    if (due >= host.tick_at) return;
    host.tick_at = due;
    post(due, rank, nullptr);
}

void SwimWorld::leave(Rank rank) {
    Swim::Outbox out;
    hosts_[rank].swim->leave(now_, out);
    send(rank, out);
    hosts_[rank].dead = true;
}

void SwimWorld::exclude(Rank by, Rank rank) {
    Swim::Outbox out;
    hosts_[by].swim->exclude(rank, now_, out);
    send(by, out);
    after_turn(by);
}

bool SwimWorld::all_views_equal() const {
    const group::Swim* first = nullptr;
    for (const Host& host : hosts_) {
        if (host.dead || host.swim->displaced()) continue;
        if (first && host.swim->table().stamp() != first->table().stamp()) return false;
        first = host.swim.get();
    }
    return true;
}

}  // namespace cinnabar::test
