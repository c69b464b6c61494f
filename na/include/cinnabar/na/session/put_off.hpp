// SPDX-License-Identifier: BSD-3-Clause
// What a port does only when the stack has unwound, because whoever is told may post, cancel or disconnect: completions
// and the ends of sessions. Owner of the context only.
#pragma once

#include <cinnabar/na/session/peer.hpp>

namespace cinnabar::na {

// Posted has `link`, `op`, `result`, and a `place` with the value `ended`; it is in no list when it is given here.
template <typename OwnPeer, typename Posted>
class PutOff {
  public:
    // Completes it later.
    void end(Posted& posted, Errc result) noexcept {
        posted.place = decltype(posted.place)::ended;
        posted.result = result;
        ended_.push_back(posted);
    }
    // Ends the peer's session, or its dial, later. False: it ends already.
    [[nodiscard]] bool end_session(OwnPeer& peer, Errc why) noexcept {
        if (peer.ending) return false;
        peer.ending = true;
        peer.ending_why = why;
        endings_.push_back(peer);
        return true;
    }
    [[nodiscard]] bool empty() const noexcept { return ended_.empty() && endings_.empty(); }

    // Does it now, unless that is under way further down the stack. `session_over(peer, why)` ends a session.
    template <typename F>
    unsigned settle(PortHost& host, F&& session_over) noexcept {
        return settling_ || empty() ? 0 : settle_all(host, session_over);
    }

    // The port closes: nothing is settled from now on, and no session ends by itself.
    void close() noexcept {
        settling_ = true;
        while (SessionPeer* peer = endings_.pop_front()) peer->ending = false;
    }
    void complete_all(PortHost& host) noexcept {
        while (complete_one(host)) continue;
    }

  private:
    // Completions that one settle() runs: those that they post in turn wait for the next.
    static constexpr unsigned settle_max = 4096;

    template <typename F>
    [[gnu::noinline]] unsigned settle_all(PortHost& host, F& session_over) noexcept {
        settling_ = true;
        unsigned did = 0;
        do {
            while (SessionPeer* peer = endings_.pop_front()) {
                peer->ending = false;
                session_over(static_cast<OwnPeer&>(*peer), peer->ending_why);
                ++did;
            }
            while (did < settle_max && complete_one(host)) ++did;
        } while (!endings_.empty());
        settling_ = false;
        return did;
    }

    bool complete_one(PortHost& host) noexcept {
        Posted* posted = ended_.pop_front();
        if (posted) host.complete(*posted->op, posted->result);
        return posted != nullptr;
    }

    IntrusiveList<Posted, &Posted::link> ended_;
    IntrusiveList<SessionPeer, &SessionPeer::ending_link> endings_;
    bool settling_ = false;
};

}  // namespace cinnabar::na
