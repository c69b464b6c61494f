// SPDX-License-Identifier: BSD-3-Clause
// A remote context as this port knows it. Owner of the context only.
#pragma once

#include "bindings.hpp"

#include <cinnabar/na/session/dial_targets.hpp>

namespace cinnabar::verbs {

class Session;

class VerbsPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    Session* session = nullptr;  // set while there is a session
    Session* dial = nullptr;     // set while dialling
    // Mutable, because Transport::confine does not change the peer itself.
    mutable LeasesToBind to_bind;
};

}  // namespace cinnabar::verbs
