// SPDX-License-Identifier: BSD-3-Clause
// A remote context as this port knows it. Owner of the context only.
#pragma once

#include "frame.hpp"
#include "greeting.hpp"

#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/socket_port.hpp>

namespace cinnabar::tcp {

class BulkLane;
class MessageLane;
class TcpPeer;
class TcpPort;

// A dial for one lane.
using Dial = na::OutgoingHandshake<TcpPort, TcpPeer, LaneKind>;

class TcpPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    // Of the present or the last session:
    LaneToken token{};     // further lanes find the session by it
    bool dialled = false;  // this side dialled the session, so it dials further lanes as well

    MessageLane* lane = nullptr;
    BulkLane* bulk = nullptr;
    Dial* dial = nullptr;           // for lane 0
    Dial* bulk_dial = nullptr;      // for lane 1
    na::SocketAddress bulk_target;  // the remote address of lane 0
    bool bulk_wanted = false;       // this side has asked the other one to dial lane 1
};

}  // namespace cinnabar::tcp
