// SPDX-License-Identifier: BSD-3-Clause
// The states of a session with a peer, and the table of transitions. Pure. Two processes that connect to each other at
// once get two sessions, one for each direction, so a simultaneous connect needs no state of its own (decision 0027).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

enum class SessionState : std::uint8_t {
    idle,      // no connection; the next post dials
    dialling,  // this side dials, or waits for the answer to its greeting
    opening,   // both sides have greeted; the transport is still setting up the connection
    open,
    // The session or the dial ends when deferred work runs:
    dial_failed,   // the dial failed; counts for the backoff
    dial_dropped,  // this side gave up the dial; does not count for the backoff
    closing,
};
inline constexpr std::size_t session_states = 7;

enum class SessionEvent : std::uint8_t {
    dial,        // this side begins to dial
    accept,      // an incoming connection was accepted
    greeted,     // both sides have greeted
    opened,      // the connection is usable
    lost,        // the connection or the dial failed
    disconnect,  // the user of this side disconnects
    unwound,     // deferred work runs: no function of the peer is on the stack
};
inline constexpr std::size_t session_events = 7;

[[nodiscard]] constexpr bool is_ending(SessionState state) noexcept { return state >= SessionState::dial_failed; }

// The next state; the same state if the event has no effect.
[[nodiscard]] constexpr SessionState next_state(SessionState state, SessionEvent event) noexcept {
    using enum SessionState;
    constexpr SessionState table[session_states][session_events] = {
        // dial         accept        greeted       opened        lost          disconnect    unwound
        {dialling, opening, idle, idle, idle, idle, idle},                                           // idle
        {dialling, dialling, opening, open, dial_failed, dial_dropped, dialling},                    // dialling
        {opening, opening, opening, open, dial_failed, dial_dropped, opening},                       // opening
        {open, open, open, open, closing, closing, open},                                            // open
        {dial_failed, dial_failed, dial_failed, dial_failed, dial_failed, dial_failed, idle},        // dial_failed
        {dial_dropped, dial_dropped, dial_dropped, dial_dropped, dial_dropped, dial_dropped, idle},  // dial_dropped
        {closing, closing, closing, closing, closing, closing, idle},                                // closing
    };
    return table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace cinnabar::na
