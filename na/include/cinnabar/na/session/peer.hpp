// SPDX-License-Identifier: BSD-3-Clause
// A peer of a transport that dials and accepts: the pair of this context and a remote one. One that is dialled outlives
// its sessions, and only its own dials give it one. One that came in is one session, and of no more use when that has
// ended. Nothing that a newcomer claims makes it the session of a peer that is there (decision 0027). Owner of the
// context only.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cinnabar::na {

// Dials that fail in a row: from the fourth on, posts fail at once until `retry_at`.
struct DialBackoff {
    static constexpr std::uint32_t failures_free = 3;
    static constexpr TimeUs retry_us_max = 100'000;

    std::uint32_t failures = 0;
    Errc last_failure = Errc::ok;
    TimeUs retry_at = 0;

    void failed(Errc why, TimeUs now) noexcept {
        last_failure = why;
        ++failures;
        retry_at = now + std::min<TimeUs>(retry_us_max, TimeUs{100} << std::min(failures, 20u));
    }
    void succeeded() noexcept { failures = 0; }
    [[nodiscard]] bool may_dial(TimeUs now) const noexcept { return failures <= failures_free || now >= retry_at; }
};

class SessionPeer : public Peer {
  public:
    virtual ~SessionPeer() = default;

    [[nodiscard]] ContextId remote_context() const noexcept { return addr().body().context; }
    [[nodiscard]] bool in_use() const noexcept { return state() != PeerState::idle || ending || references() > 0; }
    [[nodiscard]] bool can_be_dialled() const noexcept { return !place.empty(); }

    // What Peer shows of the session.
    void set_connecting() noexcept { state_ = PeerState::connecting; }
    void set_idle() noexcept { state_ = PeerState::idle; }

    const std::string place;  // peers that are dialled at the same place are the same; empty: it came in
    std::vector<Addr> names;  // other addresses that turned out to mean this peer

    // A session, or a dial, that is to end as soon as the stack has unwound.
    bool ending = false;
    Errc ending_why = Errc::ok;

    DialBackoff backoff;

    ListLink<SessionPeer> ending_link;
    ListLink<SessionPeer> all_link;
    ListLink<SessionPeer> spare_link;  // not in use: may be forgotten

  protected:
    SessionPeer(Port& port, Addr addr, const Transport& transport, const PortHost& host, std::string dialled_at)
        : Peer(port, std::move(addr)), place(std::move(dialled_at)) {
        message_bytes_max_ = static_cast<std::uint32_t>(transport.limits().message_bytes_max);
        initial_credits_ = host.initial_credits();
    }

    void set_connected(Incarnation claimed, std::uint32_t message_bytes_max, std::uint32_t credits) noexcept {
        incarnation_ = claimed;
        message_bytes_max_ = message_bytes_max;
        initial_credits_ = credits;
        ++epoch_;
        state_ = PeerState::connected;
    }
};

}  // namespace cinnabar::na
