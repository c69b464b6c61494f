// SPDX-License-Identifier: BSD-3-Clause
// RelayedPings: pings that this member has sent on behalf of other members, which got no answer themselves. Their
// number is limited for each of those members, so that none can request an unlimited number.
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cinnabar::group {

struct RelayedPing {
    Rank origin = no_rank;  // who asked for it
    std::uint32_t origin_sequence = 0;
    Rank target = no_rank;
    std::uint32_t sequence = 0;  // of the ping to the target
    TimeUs nack_us = 0;          // when the origin is told that the target has not answered
    TimeUs ends_us = 0;          // a later answer is not forwarded
};

class CINNABAR_API RelayedPings {
  public:
    static constexpr std::size_t pings_max = 64;
    static constexpr std::ptrdiff_t pings_of_one_max = 4;  // for one origin

    [[nodiscard]] bool has_room_for(Rank origin) const noexcept;
    // Requires: has_room_for(ping.origin).
    void add(const RelayedPing& ping) { pings_.push_back(ping); }
    // Removes and returns the ping that the target has answered. Empty: there is none, or the answer is late.
    [[nodiscard]] std::optional<RelayedPing> take_answered(Rank target, std::uint32_t sequence, TimeUs now);
    // Returns the pings whose nack_us has come, each of them once, and removes those that have ended.
    [[nodiscard]] std::vector<RelayedPing> take_unanswered(TimeUs now);
    [[nodiscard]] TimeUs next_due_us() const noexcept;
    void clear() noexcept { pings_.clear(); }

  private:
    std::vector<RelayedPing> pings_;
};

}  // namespace cinnabar::group
