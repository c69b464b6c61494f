// SPDX-License-Identifier: BSD-3-Clause
// Options of failure detection. All members should use the same values. docs/groups.md describes the costs and benefits
// of each option.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <cstdint>

namespace cinnabar::group {

struct SwimOptions {
    // A member pings one other member in each period. At least 10 ms.
    Microseconds period{1'000'000};
    // How long to wait for an answer before asking other members to ping; 0: a third of the period.
    Microseconds ping_timeout{0};
    unsigned indirect = 3;  // number of members asked
    // How many periods a suspect has to refute the suspicion: suspicion_min * log10(members), and at least
    // suspicion_min, if three more members confirm the suspicion; up to suspicion_spread times as many if fewer do.
    unsigned suspicion_min = 4;
    unsigned suspicion_spread = 4;
    // A member that is slow itself waits up to this many times longer for others.
    unsigned health_max = 8;
    unsigned piggyback_max = 8;      // claims per message
    unsigned transmit_factor = 2;    // a claim is forwarded transmit_factor * log2(members) times
    unsigned reconnect_periods = 8;  // between attempts to reach an excluded member
    // The maximum number of ranks. Claims about higher ranks are ignored, so that no peer can make this process store
    // more of them.
    std::uint32_t members_max = 65'536;
    // How long a member must have been gone (left or excluded) before its rank is given to another process that joins.
    // 0: no rank is given again, so at most members_max processes can join in the whole life of the group; otherwise at
    // least 32 periods. The member that assigns ranks counts this time from its own joining on, without the time during
    // which it was stopped itself. A member that was cut off or stopped for longer, and whose rank was given away
    // meanwhile, ends its part as if it had left, and may join anew. Members that were started from a roster do not
    // give the ranks of the roster away. Price: any peer that can connect can end the part of a member, by a claim that
    // its rank was given away.
    Microseconds reuse_ranks_after{0};
    // True: this process rejoins with the next incarnation if the other members have excluded it although it is alive.
    // False: its part in the group ends then, even if a partition or a lying peer was the cause.
    bool rejoin = true;
};

}  // namespace cinnabar::group
