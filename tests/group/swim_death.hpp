// SPDX-License-Identifier: BSD-3-Clause
// The death of one of many simulated members, and when the others notice it.
#pragma once

#include "swim_world.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace cinnabar::test {

inline constexpr TimeUs period_us = 1'000'000;

// Times are in periods after it; -1: not yet.
struct Death {
    group::Rank victim = group::no_rank;
    double first_suspicion = -1;
    double first_exclusion = -1;
    double last_exclusion = -1;
    std::size_t excluded_at = 0;  // members that have excluded it
};

// Kills one member, and listens to the others as long as it exists.
class DeathWatch {
  public:
    explicit DeathWatch(SwimWorld& world) : world_(world), death_{world.random_rank()} {
        while (world.dead(death_.victim)) death_.victim = world.random_rank();
        from_us_ = world.now_us();
        world.on_change = [this](group::Rank, const group::Change& change) { note(change); };
        world.kill(death_.victim);
    }
    ~DeathWatch() { world_.on_change = nullptr; }
    DeathWatch(const DeathWatch&) = delete;
    DeathWatch& operator=(const DeathWatch&) = delete;

    [[nodiscard]] const Death& death() const noexcept { return death_; }
    // Lives of living members that some member has excluded.
    [[nodiscard]] std::size_t wronged() const noexcept { return wronged_.size(); }

  private:
    void note(const group::Change& change) {
        const bool excluded = change.happened == group::Happened::excluded;
        if (change.rank != death_.victim) {
            if (excluded && !world_.dead(change.rank)) wronged_.emplace(change.rank, change.incarnation);
            return;
        }
        const double when = static_cast<double>(world_.now_us() - from_us_) / period_us;
        if (change.happened == group::Happened::suspected && death_.first_suspicion < 0) death_.first_suspicion = when;
        if (!excluded) return;
        if (death_.first_exclusion < 0) death_.first_exclusion = when;
        death_.last_exclusion = when;
        ++death_.excluded_at;
    }

    SwimWorld& world_;
    Death death_;
    TimeUs from_us_ = 0;
    std::set<std::pair<group::Rank, std::uint32_t>> wronged_;
};

// Kills one member and runs for that long.
inline Death kill_one(SwimWorld& world, TimeUs span, std::size_t& wronged) {
    const DeathWatch watch(world);
    world.run_for(span);
    wronged += watch.wronged();
    return watch.death();
}

}  // namespace cinnabar::test
