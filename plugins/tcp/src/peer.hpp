// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. Owner of the context only.
#pragma once

#include "posted.hpp"

#include <cinnabar/na/session/peer.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <vector>

namespace cinnabar::tcp {

class BulkLane;
class Dial;
class MessageLane;
class TcpPort;

using na::Identity;
using na::SocketAddress;

// What the Hello of a session settled.
struct SessionTerms {
    Identity identity;
    std::uint32_t message_bytes_max = 0;
    std::uint32_t credits = 0;
    std::uint32_t token = 0;  // names the session when a further lane is dialled
    bool dialled = false;     // by this side, which then dials the further lanes too
};

class TcpPeer final : public na::SessionPeer {
  public:
    TcpPeer(TcpPort& port, const na::Addr& addr, std::vector<SocketAddress> candidates);

    void set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept;

    PostedList messages;  // to be sent, connected or not
    PostedList rma;       // not admitted to the bulk lane yet

    SessionTerms terms;  // of the present session, or of the last one
    MessageLane* lane = nullptr;
    BulkLane* bulk = nullptr;
    Dial* dial = nullptr;       // a session is being made
    Dial* bulk_dial = nullptr;  // lane 1 is being made
    bool bulk_wanted = false;   // the dialler of the session was asked for lane 1

    const std::vector<SocketAddress> candidates;  // where to dial; empty for a peer that came by itself
};

}  // namespace cinnabar::tcp
