// SPDX-License-Identifier: BSD-3-Clause
// A remote context as a sealed port knows it, and how it is found from the peer of the transport below. Owner of the
// context only.
#pragma once

#include <cinnabar/na/session/session_port.hpp>

#include <string>
#include <utility>

namespace cinnabar::tls {

class SealedPeer;
class SealedSession;

// The object to which na::Peer::upper of a peer below points.
struct LinkBelow {
    SealedPeer* dialled = nullptr;     // null: the peer was accepted
    SealedSession* session = nullptr;  // the present one; null: none
    // The peer below was told to disconnect and has not reported the loss yet, so its next report is about the previous
    // session.
    bool closing = false;
    bool dial_waits = false;  // a dial begins once that loss is reported
};

class SealedPeer final : public na::SessionPeer {
  public:
    // A peer that is dialled; holds a reference to `below`.
    SealedPeer(na::SessionPort& port, const na::Addr& addr, const na::Transport& transport, na::Peer& below,
               std::string key)
        : SessionPeer(port, addr, transport, port.host(), std::move(key)), below_(&below) {
        link.dialled = this;
        below.acquire();
    }
    // A peer that was accepted.
    SealedPeer(na::SessionPort& port, const na::Addr& addr, const na::Transport& transport)
        : SessionPeer(port, addr, transport, port.host(), {}) {}
    ~SealedPeer() override { forget_below(); }

    // Null: it was accepted, or the port is closed.
    [[nodiscard]] na::Peer* below() const noexcept { return below_; }
    // Call before the port below is destroyed.
    void forget_below() noexcept {
        na::Peer* const below = std::exchange(below_, nullptr);
        if (!below) return;
        if (below->upper == &link) below->upper = nullptr;
        below->release();
    }

    LinkBelow link;                    // of a peer that is dialled
    SealedSession* session = nullptr;  // from the start of the dial, or of the accepted session, to its end

  private:
    na::Peer* below_ = nullptr;
};

}  // namespace cinnabar::tls
