// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one. Owner of the context only.
#pragma once

#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/socket_port.hpp>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;
class Session;

// Of a session, which is named in the greeting, so that the peer can answer on the fabric.
using Dial = na::OutgoingHandshake<OfiPort, OfiPeer, Session*>;

class OfiPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    Session* session = nullptr;  // both have greeted
    Dial* dial = nullptr;        // a session is being made
};

}  // namespace cinnabar::ofi
