// SPDX-License-Identifier: BSD-3-Clause
// Where a call was when it ended early, and how long it had waited by then.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <cstdint>

namespace cinnabar::rpc {

// How long a call waited for each thing. The three times follow each other and add up to the whole time until the call
// ended. All three are 0 if `Call::began_us` is not set and the call was not queued.
struct CallWaits {
    TimeUs connecting_us = 0;  // waiting for a connection
    TimeUs queued_us = 0;      // then waiting to be sent: for a credit, a slot for the reply, or room
    TimeUs sent_us = 0;        // then waiting for the answer
    std::uint16_t ahead = 0;   // other calls to the same peer that were sent and not answered; 65,535: or more
    CallPhase phase = CallPhase::unknown;       // where it was when it ended; `unknown`: nothing is recorded
    CallPhase queued_for = CallPhase::unknown;  // what it last waited for before it was sent; `unknown`: nothing
};

}  // namespace cinnabar::rpc
