// SPDX-License-Identifier: BSD-3-Clause
// A remote context as this port knows it. Owner of the context only.
#pragma once

#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/socket_port.hpp>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;
class Session;

// A dial already has a session: the greeting contains the session's name, so that the peer can address frames to it.
using Dial = na::OutgoingHandshake<OfiPort, OfiPeer, Session*>;

class OfiPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    Session* session = nullptr;  // set after the handshake
    Dial* dial = nullptr;        // set while dialling
};

}  // namespace cinnabar::ofi
