// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. Owner of the context only.
#pragma once

#include "address.hpp"
#include "posted.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/peer.hpp>
#include <cinnabar/na/session/places.hpp>

namespace cinnabar::verbs {

class Connection;
class VerbsPort;

class VerbsPeer final : public na::SessionPeer {
  public:
    VerbsPeer(VerbsPort& port, const na::Addr& addr, na::Places where);

    // By the connection's greeting.
    void set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept;

    PostedList messages;  // to be sent, connected or not
    PostedList rma;       // not in the send queue yet

    Connection* connection = nullptr;  // of the present session
    Connection* dial = nullptr;        // a session is being made

    const na::Places places;  // where to dial; nowhere for a peer that came by itself
};

}  // namespace cinnabar::verbs
