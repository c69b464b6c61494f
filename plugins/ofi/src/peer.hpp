// SPDX-License-Identifier: BSD-3-Clause
// A remote context as this port knows it. Owner of the context only.
#pragma once

#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/socket_port.hpp>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;
class Session;

// A dial has a session already, whose name is in the greeting, so that the peer can send frames for it.
using Dial = na::OutgoingHandshake<OfiPort, OfiPeer, Session*>;

class OfiPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    Session* session = nullptr;  // after the handshake
    Dial* dial = nullptr;        // while it is dialled
};

}  // namespace cinnabar::ofi
