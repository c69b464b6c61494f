// SPDX-License-Identifier: BSD-3-Clause
// How a group finds out who lives. All members should have the same. docs/groups.md shows what each costs and gains.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <cstdint>

namespace cinnabar::group {

struct SwimOptions {
    // One other member is pinged in each period; from 10 ms on.
    Microseconds period{1'000'000};
    // Until others are asked to ping it as well; 0: a third of the period.
    Microseconds ping_timeout{0};
    unsigned indirect = 3;  // so many others
    // A suspect has suspicion_min * log10(members) periods to say that it lives, at least one of them, if three members
    // suspect it; with fewer, up to suspicion_spread times as long.
    unsigned suspicion_min = 4;
    unsigned suspicion_spread = 4;
    // A member that is slow itself waits up to so many times longer for others.
    unsigned health_max = 8;
    unsigned piggyback_max = 8;      // claims with each message
    unsigned transmit_factor = 2;    // a claim is sent on transmit_factor * log2(members) times
    unsigned reconnect_periods = 8;  // between attempts to reach an excluded member
    // Ranks that were ever given out. Claims about others are not believed, so no peer can make this process keep more.
    std::uint32_t members_max = 65'536;
    // Come back with the next incarnation when the others excluded this process although it lives.
    bool rejoin = true;
};

}  // namespace cinnabar::group
