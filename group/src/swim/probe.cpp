// SPDX-License-Identifier: BSD-3-Clause
// Pings, both direct and through other members.
#include "swim/swim.hpp"

#include <algorithm>

namespace cinnabar::group {

void Swim::worsen(int by) noexcept {
    const int most = static_cast<int>(options_.health_max);
    health_ = static_cast<unsigned>(std::clamp(static_cast<int>(health_) + by, 0, most));
}

void Swim::doubt(Rank rank) {
    if (rank == self_.rank || !table_.at(rank).present() || doubts_.size() >= doubts_max) return;
    if (std::find(doubts_.begin(), doubts_.end(), rank) == doubts_.end()) doubts_.push_back(rank);
}

Rank Swim::next_target() {
    while (!doubts_.empty()) {
        const Rank doubted = doubts_.front();
        doubts_.pop_front();
        if (doubted != self_.rank && table_.at(doubted).present()) return doubted;
    }
    for (Rank tried = 0; tried < table_.end(); ++tried) {
        const Rank rank = order_.next(table_.end(), random_);
        if (rank != self_.rank && table_.at(rank).present()) return rank;
    }
    return no_rank;
}

// A few attempts are enough: nearly all ranks are present, or only a few are wanted.
Rank Swim::random_present() {
    for (int attempt = 0; attempt < 16; ++attempt) {
        const Rank rank = static_cast<Rank>(random_.below(table_.end()));
        if (rank != self_.rank && table_.at(rank).present()) return rank;
    }
    return no_rank;
}

void Swim::begin_probe(TimeUs now, Outbox& out) {
    probe_ = {};
    probe_.target = next_target();
    if (probe_.target == no_rank) return;
    probe_.sequence = ++sequence_;
    probe_.ask_others_us = now + ping_timeout_us();
    out.push_back(make(Kind::ping, probe_.target, no_rank, probe_.sequence));
    add_gossip(out.back());
}

void Swim::ask_others(Outbox& out) {
    probe_.ask_others_us = time_never;
    if (probe_.answered || probe_.target == no_rank) return;
    std::vector<Rank> asked;
    for (unsigned i = 0; i < options_.indirect; ++i) {
        const Rank rank = random_present();
        if (rank == no_rank || rank == probe_.target) continue;
        if (std::find(asked.begin(), asked.end(), rank) != asked.end()) continue;
        asked.push_back(rank);
        out.push_back(make(Kind::ping_request, rank, probe_.target, probe_.sequence));
        add_gossip(out.back());
    }
    probe_.nacks_wanted = static_cast<unsigned>(asked.size());
}

// A failed probe says something about this member as well: the members it asked for help should have answered, whether
// they reached the target or not.
void Swim::end_probe(TimeUs now) {
    if (probe_.target == no_rank) return;
    if (probe_.answered) return worsen(-1);
    const unsigned missing = probe_.nacks_wanted - std::min(probe_.nacks, probe_.nacks_wanted);
    worsen(probe_.nacks_wanted == 0 && table_.present() > 2 ? 1 : static_cast<int>(missing));
    if (table_.at(probe_.target).present()) suspect(probe_.target, self_.rank, 0, now);
}

void Swim::on_ack(const Message& message, TimeUs now, Outbox& out) {
    if (message.sequence == probe_.sequence && message.about == probe_.target) {
        probe_.answered = true;
        probe_.ask_others_us = time_never;
        return;
    }
    const auto proxy = std::find_if(proxies_.begin(), proxies_.end(), [&](const Proxy& each) {
        return each.sequence == message.sequence && each.target == message.from;
    });
    if (proxy == proxies_.end() || now >= proxy->ends_us) return;
    out.push_back(make(Kind::ack, proxy->origin, proxy->target, proxy->origin_sequence));
    add_gossip(out.back());
    proxies_.erase(proxy);
}

void Swim::on_ping_request(const Message& message, TimeUs now, Outbox& out) {
    if (proxies_.size() >= proxies_max || !table_.at(message.about).known() || message.about == self_.rank) return;
    const auto of_origin =
        std::count_if(proxies_.begin(), proxies_.end(), [&](const Proxy& each) { return each.origin == message.from; });
    if (of_origin >= proxies_of_one_max) return;
    const auto timeout = static_cast<TimeUs>(options_.ping_timeout.count());
    const std::uint32_t sequence = ++sequence_;
    proxies_.push_back({message.from, message.sequence, message.about, sequence, now + timeout,
                        now + static_cast<TimeUs>(options_.period.count())});
    out.push_back(make(Kind::ping, message.about, no_rank, sequence));
    add_gossip(out.back());
}

void Swim::serve_proxies(TimeUs now, Outbox& out) {
    for (Proxy& proxy : proxies_) {
        if (now < proxy.nack_us) continue;
        proxy.nack_us = time_never;
        out.push_back(make(Kind::nack, proxy.origin, proxy.target, proxy.origin_sequence));
    }
    std::erase_if(proxies_, [now](const Proxy& proxy) { return now >= proxy.ends_us; });
}

// After a network partition each half excludes the other, and without this they would never talk again.
void Swim::reconnect(Outbox& out) {
    if (excluded_.empty()) return;
    out.push_back(make(Kind::ping, excluded_[random_.below(excluded_.size())], no_rank, ++sequence_));
    add_gossip(out.back());
}

}  // namespace cinnabar::group
