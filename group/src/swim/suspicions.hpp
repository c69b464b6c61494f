// SPDX-License-Identifier: BSD-3-Clause
// Suspicions: for each suspect, until when it may say that it lives. The more members suspect it, the sooner that is
// (Lifeguard): one that suspects alone may be the slow one.
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <array>
#include <unordered_map>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API Suspicions {
  public:
    static constexpr unsigned confirmations_max = 3;
    static constexpr unsigned extensions_max = 2;

    struct Times {
        TimeUs least;
        TimeUs most;
    };
    // `wanted`: how many others may confirm at all.
    void begin(Rank rank, Rank by, Times times, unsigned wanted, TimeUs now);
    // True if `by` had not said so yet.
    bool confirm(Rank rank, Rank by);
    // As if all had confirmed.
    void hasten(Rank rank);
    void end(Rank rank) { suspects_.erase(rank); }
    // Those whose time is over, which stay until end().
    [[nodiscard]] std::vector<Rank> due(TimeUs now) const;
    [[nodiscard]] TimeUs next_due_us() const noexcept;
    // Gives all of them the whole time again; nothing could be heard meanwhile.
    void restart(TimeUs now) noexcept;
    // The same, but twice at most for each: where most members are dead, little is heard, and they must go all the
    // same.
    void extend(TimeUs now) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return suspects_.size(); }

  private:
    struct Suspect {
        TimeUs since;
        Times times;
        unsigned wanted;
        unsigned confirmations = 0;
        unsigned extensions = 0;
        std::array<Rank, confirmations_max + 1> by{};
        [[nodiscard]] TimeUs due_us() const noexcept;
    };
    std::unordered_map<Rank, Suspect> suspects_;
};

}  // namespace cinnabar::group
