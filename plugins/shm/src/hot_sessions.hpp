// SPDX-License-Identifier: BSD-3-Clause
// Decides which sessions of a port are looked at in a round. A session is in one of three states:
//
//     hot      its ring is looked at in every round; the peer need not wake this side
//     flagged  its ring is looked at when the peer has raised its flag (flags.hpp)
//     cold     the peer sends a bell over the socket, and epoll reports it
//
// If there are few sessions, all are hot. If there are many (a crowd), a session is hot while it has a record every few
// rounds; the others are flagged while the context is awake, and cold while it sleeps. Sessions with peers of other
// users have no flag, so they are only hot or cold.
//
// Any process of this user may lower a flag that a peer has raised. So every fourth round also looks at the ring of one
// flagged session, each in turn, and before the context sleeps, it looks at the rings of all. Owner of the context
// only.
#pragma once

#include "flags.hpp"
#include "session.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/transport.hpp>

#include <vector>

namespace cinnabar::shm {

class HotSessions {
  public:
    explicit HotSessions(na::PortHost& host) noexcept : host_(host) {}

    [[nodiscard]] Flags& flags() noexcept { return flags_; }

    // Makes room for this many sessions. `flag`: that of the next one (OwnFlag::term). Throws bad_alloc.
    void reserve(std::size_t sessions, std::uint32_t flag);
    // Call when a session has begun. Requires: reserve().
    void begin(Session& session) noexcept;
    // Call when the session is about to close.
    void end(Session& session) noexcept;

    // Reads the sessions that have records; returns the number of records.
    unsigned look() noexcept;
    // Reads a session whose peer has rung the socket.
    void heard(Session& session) noexcept;
    // Whether some sessions were active a moment ago, so that epoll need not be asked in every round.
    [[nodiscard]] bool active() const noexcept;

    // Call when the context is about to sleep: asks the peers to ring. A full barrier must follow, then missed().
    void arm() noexcept;
    // Whether a record was written before the bells were armed.
    [[nodiscard]] bool missed() noexcept;

  private:
    using Flagged = IntrusiveList<Session, &Session::flagged_link>;

    [[nodiscard]] bool crowded() const noexcept;
    void touch(Session& session) noexcept;
    void heat(Session& session) noexcept;
    void forget_hot(Session& session) noexcept;
    void cool(Session& session) noexcept;
    void flag(Session& session) noexcept;
    void raise_if_missed(Session& session) noexcept;
    void miss(Session& session) noexcept;
    unsigned visit(Session& session) noexcept;
    unsigned look_at_raised() noexcept;
    unsigned look_at_next() noexcept;

    na::PortHost& host_;
    Flags flags_;
    std::vector<Session*> hot_;      // capacity for all is reserved
    Flagged flagged_;                // the first one is looked at next, raised or not
    std::vector<Session*> by_flag_;  // null: no session has that flag
    std::size_t sessions_ = 0;
    std::uint32_t rounds_ = 0;
    TimeUs active_at_ = 0;  // when a session last had a record
};

}  // namespace cinnabar::shm
