// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one. Owner of the context only.
#pragma once

#include <cinnabar/na/session/dial_targets.hpp>

namespace cinnabar::verbs {

class Connection;

class VerbsPeer final : public na::SocketPeer {
  public:
    using SocketPeer::SocketPeer;

    Connection* connection = nullptr;  // of the present session
    Connection* dial = nullptr;        // a session is being made
};

}  // namespace cinnabar::verbs
