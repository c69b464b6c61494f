// SPDX-License-Identifier: BSD-3-Clause
// The state table of a session, driven by events alone.
#include <cinnabar/na/session/session_state.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace cinnabar::na {
namespace {

using enum SessionState;

std::vector<SessionState> walk(std::initializer_list<SessionEvent> events) {
    std::vector<SessionState> states{idle};
    for (const SessionEvent event : events) states.push_back(next_state(states.back(), event));
    return states;
}

TEST(SessionState, ADialledSessionOpensAndEnds) {
    using enum SessionEvent;
    EXPECT_EQ(walk({dial, greeted, opened, lost, unwound}),
              (std::vector{idle, dialling, opening, open, closing, idle}));
    EXPECT_EQ(walk({dial, opened, disconnect, unwound}), (std::vector{idle, dialling, open, closing, idle}));
}

TEST(SessionState, AnAcceptedSessionOpensAndEnds) {
    using enum SessionEvent;
    EXPECT_EQ(walk({accept, opened, lost, unwound}), (std::vector{idle, opening, open, closing, idle}));
}

// Only failed dials count for the back-off.
TEST(SessionState, ADialThatFailsIsNotOneThatIsDropped) {
    using enum SessionEvent;
    EXPECT_EQ(walk({dial, lost, unwound}), (std::vector{idle, dialling, dial_failed, idle}));
    EXPECT_EQ(walk({dial, greeted, lost, unwound}), (std::vector{idle, dialling, opening, dial_failed, idle}));
    EXPECT_EQ(walk({dial, disconnect, unwound}), (std::vector{idle, dialling, dial_dropped, idle}));
}

// The first reason is the one reported. Only `unwound` ends these states.
TEST(SessionState, AnEndingSessionIgnoresEverythingButTheEnd) {
    for (const SessionState ending : {dial_failed, dial_dropped, closing}) {
        EXPECT_TRUE(is_ending(ending));
        for (std::size_t event = 0; event + 1 < session_events; ++event) {
            EXPECT_EQ(next_state(ending, static_cast<SessionEvent>(event)), ending) << event;
        }
        EXPECT_EQ(next_state(ending, SessionEvent::unwound), idle);
    }
}

TEST(SessionState, WithoutASessionNothingIsLost) {
    using enum SessionEvent;
    for (const SessionEvent event : {greeted, opened, lost, disconnect, unwound}) {
        EXPECT_EQ(next_state(idle, event), idle);
    }
}

// A second dial or accept never replaces a session (decision 0027).
TEST(SessionState, NothingReplacesASession) {
    for (const SessionState busy : {dialling, opening, open}) {
        EXPECT_FALSE(is_ending(busy));
        EXPECT_EQ(next_state(busy, SessionEvent::dial), busy);
        EXPECT_EQ(next_state(busy, SessionEvent::accept), busy);
        EXPECT_EQ(next_state(busy, SessionEvent::unwound), busy);
    }
}

}  // namespace
}  // namespace cinnabar::na
