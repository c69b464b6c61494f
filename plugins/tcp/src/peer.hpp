// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one. Owner of the context only.
#pragma once

#include "framing.hpp"
#include "greeting.hpp"

#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/socket_port.hpp>

namespace cinnabar::tcp {

class BulkLane;
class MessageLane;
class TcpPeer;
class TcpPort;

// Of one lane.
using Dial = na::OutgoingHandshake<TcpPort, TcpPeer, Lane>;

class TcpPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    // Of the present session, or of the last one.
    LaneToken token{};     // leads further lanes to the session
    bool dialled = false;  // by this side, which then dials the further lanes too

    MessageLane* lane = nullptr;
    BulkLane* bulk = nullptr;
    Dial* dial = nullptr;           // a session is being made
    Dial* bulk_dial = nullptr;      // lane 1 is being made
    na::SocketAddress bulk_target;  // where lane 0 went
    bool bulk_wanted = false;       // the dialler of the session was asked for lane 1
};

}  // namespace cinnabar::tcp
