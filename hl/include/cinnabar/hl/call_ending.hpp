// SPDX-License-Identifier: BSD-3-Clause
// CallEnding: the phase in which a call ended early. Error::message() says the same in words.
//
//     const auto reply = node.call(greet, peer, "you").wait();
//     if (const auto ending = call_ending(reply.error()); ending && ending->longest == CallPhase::waits_for_credit) ...
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/call_waits.hpp>

#include <optional>
#include <string>

namespace cinnabar::hl {

using rpc::CallPhase;

struct CallEnding {
    std::string rpc;        // its name
    na::Addr peer;          // its target
    std::string transport;  // the scheme of the transport in use
    // The phase in which the call ended, and how long it had waited for the connection, to be sent, and for the answer.
    rpc::CallWaits waits;
    CallPhase longest = CallPhase::unknown;  // the phase that took most of the time; the error's advice is for it
    TimeUs took_us = 0;                      // all of it, in microseconds
    bool was_sent = false;                   // the target may have received it
};

// Returns how a call of this node ended, if its error is timed_out, canceled, peer_lost or overloaded. Empty for other
// errors, for a call that could not be started, and if no memory was left to record it. For a call through a Caller:
// how its last attempt ended, even if the call was stopped in the pause after that attempt. Any thread.
[[nodiscard]] CINNABAR_API std::optional<CallEnding> call_ending(const Error& error);

}  // namespace cinnabar::hl
