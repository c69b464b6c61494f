// SPDX-License-Identifier: BSD-3-Clause
// Many Swim state machines in one process, with a simulated clock and network, all from one seed.
#pragma once

#include "swim/swim.hpp"

#include <functional>
#include <memory>
#include <queue>
#include <vector>

namespace cinnabar::test {

struct SwimClimate {
    unsigned loss_per_mille = 0;
    unsigned slow_per_cent = 0;  // the part of the members whose messages take up to slow_us longer, in each direction
    TimeUs slow_us = 300'000;
    TimeUs latency_min_us = 50;
    TimeUs latency_max_us = 500;
};

class SwimWorld {
  public:
    SwimWorld(std::size_t members, const group::SwimOptions& options, const SwimClimate& climate, std::uint64_t seed);

    void run_for(TimeUs span);
    void kill(group::Rank rank) { hosts_[rank].dead = true; }
    void restart_clock(group::Rank rank) { hosts_[rank].stopped_until = now_; }
    // The member does not run for that long; messages to it are queued.
    void stop_clock(group::Rank rank, TimeUs span) { hosts_[rank].stopped_until = now_ + span; }
    // Members on different sides do not receive each other's messages.
    void put_on_side(group::Rank rank, int side) { hosts_[rank].side = side; }
    void leave(group::Rank rank);
    void exclude(group::Rank by, group::Rank rank);

    [[nodiscard]] group::Swim& member(group::Rank rank) { return *hosts_[rank].swim; }
    [[nodiscard]] bool dead(group::Rank rank) const { return hosts_[rank].dead; }
    [[nodiscard]] std::size_t size() const { return hosts_.size(); }
    [[nodiscard]] TimeUs now_us() const { return now_; }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }
    [[nodiscard]] group::Rank random_rank() { return static_cast<group::Rank>(random_.below(hosts_.size())); }
    [[nodiscard]] bool all_views_equal() const;
    // Called for each change that a living member notices.
    std::function<void(group::Rank at, const group::Change& change)> on_change;
    // Sees each message before it is sent, and may change it.
    std::function<void(group::Message& message)> on_send;

  private:
    struct Host {
        std::unique_ptr<group::Swim> swim;
        bool dead = false;
        bool slow = false;
        int side = 0;
        TimeUs stopped_until = 0;
        TimeUs tick_at = time_never;
    };
    struct Arrival {
        TimeUs at;
        std::uint64_t order;
        group::Rank to;
        std::shared_ptr<const group::Message> message;  // null: a tick
        bool operator<(const Arrival& other) const { return at != other.at ? at > other.at : order > other.order; }
    };
    void post(TimeUs at, group::Rank to, std::shared_ptr<const group::Message> message);
    void arrive(const Arrival& arrival);
    void send(group::Rank from, group::Swim::Outbox& out);
    void after_turn(group::Rank rank);

    std::vector<Host> hosts_;
    SwimClimate climate_;
    Random random_;
    TimeUs now_ = 1'000'000;
    std::uint64_t next_ = 0;
    std::uint64_t messages_ = 0;
    std::priority_queue<Arrival> queue_;
};

}  // namespace cinnabar::test
