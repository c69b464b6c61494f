// SPDX-License-Identifier: BSD-3-Clause
// A peer of a transport that has sessions. A peer that this side dials outlives its sessions, and its sessions come
// only from dials of this side. A peer made for an incoming connection has only the session of this connection, and is
// useless after its end. An incoming connection never becomes the session of an existing peer, whatever identity it
// claims (decision 0027). Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/session/session_state.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::na {

// Counts failed dials in a row. From the fourth on, posts fail at once until `retry_at`.
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

    // The peer's context in the last session; before the first session, the one that the address names.
    [[nodiscard]] ContextId remote_context() const noexcept { return remote_context_; }
    [[nodiscard]] SessionState session_state() const noexcept { return session_state_; }
    // Whether the session or the dial ends as soon as the deferred work runs (SessionPort::settle).
    [[nodiscard]] bool ending() const noexcept { return is_ending(session_state_); }
    [[nodiscard]] bool in_use() const noexcept { return session_state_ != SessionState::idle || references() > 0; }
    [[nodiscard]] bool can_be_dialled() const noexcept { return !dial_key.empty(); }
    [[nodiscard]] bool has_waiting_ops() const noexcept { return !messages.empty() || !rma.empty(); }

    // The identity that a dial asks for. Incarnation 0, or any_context: the address does not name one.
    [[nodiscard]] Identity wanted() const noexcept {
        const AddrBody& address = addr_.body();
        return {address.incarnation, address.names_context ? address.context : any_context};
    }
    // Checks the answer to a dial. ok: the session may begin. protocol: the Hello is no answer, or comes from another
    // context. peer_lost: the peer does not have the incarnation that the address asks for. If the answer is a reject:
    // its reason.
    [[nodiscard]] Errc check_answer(const Hello& answer) const noexcept {
        const AddrBody& address = addr_.body();
        if (answer.kind == HelloKind::reject) return rejection(answer);
        if (answer.kind != HelloKind::accept) return Errc::protocol;
        if (address.names_context && answer.context != address.context) return Errc::protocol;
        return address.incarnation != 0 && answer.incarnation != address.incarnation ? Errc::peer_lost : Errc::ok;
    }

    // Applies the event to the state table. False: the event has no effect in this state.
    bool step(SessionEvent event) noexcept {
        const SessionState next = next_state(session_state_, event);
        if (next == session_state_) return false;
        set_state(next);
        return true;
    }
    // Call when the session is open. `theirs`: the peer's Hello.
    void set_open(const Hello& theirs, std::uint32_t own_message_bytes_max) noexcept {
        incarnation_ = theirs.incarnation;
        remote_context_ = theirs.context;
        message_bytes_max_ = std::min(own_message_bytes_max, theirs.message_bytes_max);
        initial_credits_ = theirs.credits;
        ++epoch_;
        backoff.succeeded();
        (void)step(SessionEvent::opened);
    }
    // See Peer::lost_because. Null: not known, or a dial begins.
    void set_lost_because(const char* because) noexcept { lost_because_ = because; }
    // For the port's close().
    void reset() noexcept { set_state(SessionState::idle); }

    const std::string dial_key;  // addresses with the same key mean the same peer; empty: the peer was accepted
    std::vector<Addr> names;     // other addresses that mean this peer, the oldest first

    PostedOps messages;    // waiting to be sent, whether connected or not
    PostedOps rma;         // not started
    bool delayed = false;  // some messages had to wait: SessionPort::show_delayed

    Errc ending_why = Errc::ok;
    DialBackoff backoff;

    ListLink<SessionPeer> ending_link;
    ListLink<SessionPeer> all_link;
    ListLink<SessionPeer> spare_link;  // in the list of peers that are not in use and may be destroyed

  protected:
    SessionPeer(Port& port, Addr addr, const Transport& transport, const PortHost& host, std::string key)
        : Peer(port, std::move(addr)), dial_key(std::move(key)), remote_context_(addr_.body().context) {
        message_bytes_max_ = static_cast<std::uint32_t>(transport.limits().message_bytes_max);
        initial_credits_ = host.initial_credits();
    }

  private:
    void set_state(SessionState next) noexcept {
        session_state_ = next;
        const bool connected = next == SessionState::open || next == SessionState::closing;
        if (next == SessionState::idle) {
            state_ = PeerState::idle;
        } else {
            state_ = connected ? PeerState::connected : PeerState::connecting;
        }
    }

    SessionState session_state_ = SessionState::idle;
    ContextId remote_context_;
};

}  // namespace cinnabar::na
