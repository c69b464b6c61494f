// SPDX-License-Identifier: BSD-3-Clause
// ProbeTargets: chooses the members to ping: first the members in doubt, then all members in random order. Also chooses
// helpers for indirect pings, and remembers the excluded members, which are pinged once in a while.
#pragma once

#include "swim/probe_order.hpp"
#include "swim/table.hpp"

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/random.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API ProbeTargets {
  public:
    static constexpr std::size_t doubts_max = 16;

    // `self` is never chosen.
    explicit ProbeTargets(Rank self) noexcept : self_(self) {}

    // Pings this member next. If doubts_max are waiting already, it is pinged in the usual order.
    void doubt(const Table& table, Rank rank);
    // The next present member to ping; no_rank if there is none.
    [[nodiscard]] Rank next(const Table& table, Random& random);
    // Returns up to `count` present members, chosen at random, which can ping `target`.
    [[nodiscard]] std::vector<Rank> helpers(const Table& table, Rank target, unsigned count, Random& random) const;
    // Returns an excluded member, chosen at random; no_rank if there is none.
    [[nodiscard]] Rank excluded(Random& random) const;
    // Call it when the table's entry of a member has changed.
    void note(Rank rank, const Entry& before, const Entry& now);

  private:
    [[nodiscard]] bool may_ping(const Table& table, Rank rank) const noexcept {
        return rank != self_ && table.at(rank).present();
    }
    [[nodiscard]] Rank random_helper(const Table& table, Rank target, const std::vector<Rank>& chosen,
                                     Random& random) const;

    Rank self_;
    ProbeOrder order_;
    std::deque<Rank> doubts_;
    std::vector<Rank> excluded_;
};

}  // namespace cinnabar::group
