// SPDX-License-Identifier: BSD-3-Clause
// What the beginnings and ends of sessions have in common, on whatever connection they run. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/peer.hpp>
#include <cinnabar/na/transport.hpp>

#include <utility>

namespace cinnabar::na {

// What speaks against a newcomer: shutting_down; peer_lost: it means another incarnation; overloaded. ok: nothing.
[[nodiscard]] CINNABAR_API Errc refusal(const Hello& hello, Incarnation own, bool accepting, bool full) noexcept;
// What is wrong with the answer to a dial: its reason, where it is a reject; protocol; peer_lost: it is another
// incarnation than the address means. ok: the session may begin.
[[nodiscard]] CINNABAR_API Errc misfit(const Hello& answer, const SessionPeer& peer) noexcept;

// Whether the peer may be dialled now; if not, its backoff remembers why: closed, unreachable, overloaded, or what the
// last dials failed with.
[[nodiscard]] CINNABAR_API bool may_dial(SessionPeer& peer, bool accepting, bool full, TimeUs now) noexcept;

// The peer has another incarnation than the one it had before.
[[nodiscard]] inline bool restarted(const SessionPeer& peer, Incarnation now) noexcept {
    return peer.incarnation() != 0 && peer.incarnation() != now;
}
CINNABAR_API void tell_connected(PortHost& host, SessionPeer& peer, bool restarted) noexcept;

// Posted under the own limit; the peer's may be smaller. The port's `end` takes what does not fit.
template <typename OwnPort, typename OwnPeer>
void end_too_large(OwnPort& port, OwnPeer& peer) noexcept {
    using List = decltype(peer.messages);
    for (auto* posted = peer.messages.front(); posted;) {
        auto& now = *std::exchange(posted, List::next(*posted));
        if (now.op->message_bytes <= peer.message_bytes_max()) continue;
        peer.messages.remove(now);
        port.end(now, Errc::too_large);
    }
}

// All that waits for the peer ends.
template <typename OwnPort, typename OwnPeer>
void fail_waiting(OwnPort& port, OwnPeer& peer, Errc why) noexcept {
    while (auto* posted = peer.messages.pop_front()) port.end(*posted, why);
    while (auto* posted = peer.rma.pop_front()) port.end(*posted, why);
}

// The peer's session, or its dial, is no more. `connect`: begins another one, for what has been posted since.
template <typename OwnPort, typename OwnPeer, typename Connect>
void session_ended(OwnPort& port, OwnPeer& peer, Errc why, bool dial_failed, Connect&& connect) noexcept {
    peer.set_idle();
    if (dial_failed) peer.backoff.failed(why, port.host().now_us());
    port.host().receiver().on_peer(peer, PeerEvent::lost, why);
    const bool wanted = !peer.messages.empty() || !peer.rma.empty();
    const bool idle = peer.state() == PeerState::idle && !peer.ending;
    if (wanted && idle && !connect(peer)) fail_waiting(port, peer, peer.backoff.last_failure);
    if (peer.references() == 0) port.unreferenced(peer);
}

}  // namespace cinnabar::na
