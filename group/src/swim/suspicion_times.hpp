// SPDX-License-Identifier: BSD-3-Clause
// How long each suspect has to refute the suspicion. The more members suspect it, the shorter the time (Lifeguard),
// because a single suspecting member may itself be the slow one. Whether and why a member is suspected is decided
// elsewhere. A suspicion begins in suspect.cpp. It ends in dead_members.cpp when the time is over or the program
// excludes the member, and in merge.cpp when the member has refuted it, is known to be gone, or has begun a later life;
// the member that assigns ranks learns of a later life first (Swim::accept).
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <array>
#include <unordered_map>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API SuspicionTimes {
  public:
    static constexpr unsigned confirmations_max = 3;
    static constexpr unsigned extensions_max = 2;

    struct Limits {
        TimeUs least;
        TimeUs most;
    };
    // `wanted`: how many other members can confirm.
    void begin(Rank rank, Rank by, Limits limits, unsigned wanted, TimeUs now);
    // True if `by` had not confirmed before.
    bool confirm(Rank rank, Rank by);
    // Sets the shortest time, as if all had confirmed.
    void hasten(Rank rank);
    // Notes that others say that the suspect has left: when its time is over, the suspect counts as left, not as dead.
    // Returns true if nobody had said so before.
    bool note_leave(Rank rank);
    [[nodiscard]] bool leaves(Rank rank) const;
    void end(Rank rank) { suspects_.erase(rank); }
    // Suspects whose time has expired. They stay listed until end().
    [[nodiscard]] std::vector<Rank> due(TimeUs now) const;
    [[nodiscard]] TimeUs next_due_us() const noexcept;
    // Restarts the time of all suspects, since nothing could be heard in the meantime.
    void restart(TimeUs now) noexcept;
    // As restart(), but at most twice per suspect: if most members are dead, little is heard, and the dead must still
    // be excluded.
    void extend(TimeUs now) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return suspects_.size(); }

  private:
    struct Suspect {
        TimeUs since;
        Limits limits;
        unsigned wanted;
        unsigned confirmations = 0;
        unsigned extensions = 0;
        bool leaves = false;
        std::array<Rank, confirmations_max + 1> by{};
        [[nodiscard]] TimeUs due_us() const noexcept;
    };
    std::unordered_map<Rank, Suspect> suspects_;
};

}  // namespace cinnabar::group
