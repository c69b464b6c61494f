// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. It outlives sessions. Owner of the context only.
#pragma once

#include "posted.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/peer.hpp>

#include <string>
#include <vector>

namespace cinnabar::shm {

class Dial;
class Session;
class ShmPort;

// Which context of which process.
struct Identity {
    na::Incarnation incarnation = 0;
    na::ContextId context = 0;
    friend auto operator<=>(const Identity&, const Identity&) = default;
};

// Where a peer listens.
struct ListeningPlace {
    std::string name;
    std::string path;  // of its socket; empty for a peer that came by itself
};

class ShmPeer final : public na::Peer {
  public:
    ShmPeer(ShmPort& port, na::Addr addr, ListeningPlace place) noexcept;
    ~ShmPeer() = default;

    [[nodiscard]] na::ContextId remote_context() const noexcept { return addr().body().context; }
    [[nodiscard]] bool in_use() const noexcept { return session || dial || ending || references() > 0; }
    [[nodiscard]] bool can_be_dialled() const noexcept { return !place.path.empty(); }

    // What na::Peer shows of the session.
    void set_connecting() noexcept { state_ = na::PeerState::connecting; }
    void set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept;
    void set_idle() noexcept { state_ = na::PeerState::idle; }

    PostedList messages;  // to be written, connected or not
    PostedList rma;       // not begun

    Identity identity;  // of the present session, or of the last one
    Session* session = nullptr;
    Dial* dial = nullptr;  // a session is being made

    // A session, or a dial, that is to end as soon as the stack has unwound.
    bool ending = false;
    Errc ending_why = Errc::ok;
    bool ending_asked = false;  // by this side's user: no failure of a dial
    ListLink<ShmPeer> ending_link;

    ListeningPlace place;
    std::vector<na::Addr> names;  // other addresses that turned out to mean this peer

    // Dials that failed in a row; from the fourth on, posts fail at once until `retry_at`.
    std::uint32_t failures = 0;
    Errc last_failure = Errc::ok;
    TimeUs retry_at = 0;

    ListLink<ShmPeer> all_link;
    ListLink<ShmPeer> spare_link;  // not in use: may be forgotten
};

}  // namespace cinnabar::shm
