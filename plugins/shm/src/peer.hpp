// SPDX-License-Identifier: BSD-3-Clause
// A peer: a context of another process. Owner of this port's context only.
#pragma once

#include <cinnabar/na/session/session_port.hpp>

#include <sys/types.h>

#include <optional>
#include <string>

namespace cinnabar::shm {

class Dial;
class Session;

// The listening socket at which a peer is dialled.
struct DialTarget {
    std::string name;
    std::string path;            // of the socket; empty for an accepted peer
    std::optional<gid_t> group;  // its members may listen there
};

class ShmPeer final : public na::SessionPeer {
  public:
    ShmPeer(na::SessionPort& port, const na::Addr& addr, const na::Transport& transport, DialTarget dialled_at)
        : SessionPeer(port, addr, transport, port.host(),
                      dialled_at.path.empty() ? std::string() : na::PeerTable::dial_key(dialled_at.path, addr.body())),
          target(std::move(dialled_at)) {}

    // Sets whether the peer runs as this user; false while there is no session.
    void set_of_own_user(bool is_one) noexcept { of_own_user_ = is_one; }

    Session* session = nullptr;
    Dial* dial = nullptr;  // set while dialling

    const DialTarget target;
};

}  // namespace cinnabar::shm
