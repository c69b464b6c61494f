// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. Owner of the context only.
#pragma once

#include "posted.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/peer.hpp>
#include <cinnabar/na/session/places.hpp>

namespace cinnabar::ofi {

class Dial;
class OfiPort;
class Session;

using na::SocketAddress;

class OfiPeer final : public na::SessionPeer {
  public:
    OfiPeer(OfiPort& port, const na::Addr& addr, na::Places where);

    void set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept;

    PostedList messages;  // to be sent, connected or not
    PostedList rma;       // not admitted yet

    Session* session = nullptr;  // sockets have greeted
    Dial* dial = nullptr;        // they are about to
    bool ending_asked = false;   // by this side: no failure of a dial

    const na::Places places;  // where to dial; nowhere for a peer that came by itself
};

}  // namespace cinnabar::ofi
