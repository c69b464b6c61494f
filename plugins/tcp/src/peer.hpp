// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. It outlives sessions. Owner of the context only.
#pragma once

#include "address.hpp"
#include "posted.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/peer.hpp>

#include <vector>

namespace cinnabar::tcp {

class BulkLane;
class Dial;
class MessageLane;
class TcpPort;

// Which context of which process.
struct Identity {
    na::Incarnation incarnation = 0;
    na::ContextId context = 0;
    friend auto operator<=>(const Identity&, const Identity&) = default;
};

// What the Hello of a session settled.
struct SessionTerms {
    Identity identity;
    std::uint32_t message_bytes_max = 0;
    std::uint32_t credits = 0;
    std::uint32_t token = 0;  // names the session when a further lane is dialled
    bool dialled = false;     // by this side, which then dials the further lanes too
};

class TcpPeer final : public na::Peer {
  public:
    TcpPeer(TcpPort& port, na::Addr addr, std::vector<SocketAddress> candidates) noexcept;
    ~TcpPeer() = default;

    [[nodiscard]] na::ContextId remote_context() const noexcept { return addr().body().context; }
    [[nodiscard]] bool in_use() const noexcept { return lane || dial || ending || references() > 0; }

    // What na::Peer shows of the session.
    void set_connecting() noexcept { state_ = na::PeerState::connecting; }
    void set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept;
    void set_idle() noexcept { state_ = na::PeerState::idle; }

    PostedList messages;  // to be sent, connected or not
    PostedList rma;       // not admitted to the bulk lane yet

    SessionTerms terms;  // of the present session, or of the last one
    MessageLane* lane = nullptr;
    BulkLane* bulk = nullptr;
    Dial* dial = nullptr;       // a session is being made
    Dial* bulk_dial = nullptr;  // lane 1 is being made
    bool bulk_wanted = false;   // the dialler of the session was asked for lane 1

    // A session, or a dial, that is to end as soon as the stack has unwound.
    bool ending = false;
    Errc ending_why = Errc::ok;
    ListLink<TcpPeer> ending_link;

    // Where to dial; empty for a peer that came by itself.
    std::vector<SocketAddress> candidates;
    std::vector<na::Addr> names;  // other addresses that turned out to mean this peer

    // Dials that failed in a row; from the fourth on, posts fail at once until `retry_at`.
    std::uint32_t failures = 0;
    Errc last_failure = Errc::ok;
    TimeUs retry_at = 0;

    ListLink<TcpPeer> all_link;
    ListLink<TcpPeer> spare_link;  // not in use: may be forgotten
};

}  // namespace cinnabar::tcp
