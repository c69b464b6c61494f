// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. Owner of the context only.
#pragma once

#include "greeting.hpp"
#include "posted.hpp"

#include <cinnabar/na/session/peer.hpp>
#include <cinnabar/na/session/places.hpp>

namespace cinnabar::tcp {

class BulkLane;
class Dial;
class MessageLane;
class TcpPort;

using na::SocketAddress;

// What the Hello of a session settled.
struct SessionTerms {
    na::Incarnation incarnation = 0;
    std::uint32_t message_bytes_max = 0;
    std::uint32_t credits = 0;
    LaneToken token{};     // leads further lanes to the session
    bool dialled = false;  // by this side, which then dials the further lanes too
};

class TcpPeer final : public na::SessionPeer {
  public:
    TcpPeer(TcpPort& port, const na::Addr& addr, na::Places where);

    void set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept;

    PostedList messages;  // to be sent, connected or not
    PostedList rma;       // not admitted to the bulk lane yet

    SessionTerms terms;  // of the present session, or of the last one
    MessageLane* lane = nullptr;
    BulkLane* bulk = nullptr;
    Dial* dial = nullptr;       // a session is being made
    Dial* bulk_dial = nullptr;  // lane 1 is being made
    bool bulk_wanted = false;   // the dialler of the session was asked for lane 1

    const na::Places places;  // where to dial; nowhere for a peer that came by itself
};

}  // namespace cinnabar::tcp
