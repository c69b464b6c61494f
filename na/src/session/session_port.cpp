// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/session_port.hpp>

#include <utility>

namespace cinnabar::na {
namespace {

// Completions per settle(). Limited, because a completion may post an op that ends at once.
constexpr unsigned settle_max = 4096;

}  // namespace

void log_connection_dropped(const Transport& transport) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, LogModule::named(transport.scheme()),
                "a connection is dropped: out of memory");
}

SessionPort::~SessionPort() { peers_.remove_all(); }

Hello SessionPort::reject_hello(const Hello& from, Errc why) const noexcept {
    Hello answer = hello(HelloKind::reject, sender_of(from));
    answer.reason = static_cast<std::uint8_t>(why);
    return answer;
}

// Peers.

Result<Peer*> SessionPort::peer(const Addr& addr) {
    if (SessionPeer* known = peers_.find(addr)) return known;
    if (addr.body().endpoints.empty()) return PeerTable::unlisted(addr);
    CINNABAR_TRY(std::unique_ptr<SessionPeer> made, make_peer(addr));
    if (SessionPeer* known = peers_.find_dial_key(made->dial_key)) {
        peers_.add_name(*known, addr);
        return known;
    }
    SessionPeer& peer = *made;
    peers_.add(std::move(made));
    return &peer;
}

void SessionPort::unreferenced(Peer& peer) noexcept {
    auto& own = static_cast<SessionPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

// Sessions.

// False: the peer cannot be dialled now. peer.backoff.last_failure says why: the port is closed, the peer is
// unreachable, session_limit(), or the error of the last dials.
bool SessionPort::connect(SessionPeer& peer) noexcept {
    Errc why = session_limit();
    if (!accepting_) why = Errc::closed;
    if (!peer.can_be_dialled()) why = Errc::unreachable;
    if (why != Errc::ok) {
        peer.backoff.last_failure = why;
        peer.set_lost_because(nullptr);
        return false;
    }
    if (!peer.backoff.may_dial(host_.now_us())) return false;
    peer.step(SessionEvent::dial);
    peer.set_lost_because(nullptr);
    count_sessions(1);
    begin_dial(peer);
    return true;
}

// Dials for an operation that was just posted. If the peer cannot be dialled, or the dial fails at once, the operation
// ends as it would when a connection is lost, and does not wait for the next dial. False: the operation has ended.
bool SessionPort::dial_for(SessionPeer& peer, PostedOp& posted) noexcept {
    const bool dialled = connect(peer);
    if (dialled && !peer.ending()) return true;
    end(posted, dialled ? peer.ending_why : peer.backoff.last_failure);
    return false;
}

Errc SessionPort::refusal(const Hello& hello) const noexcept {
    if (!accepting_) return Errc::shutting_down;
    if (hello.peer_incarnation != 0 && hello.peer_incarnation != transport_.incarnation()) return Errc::peer_lost;
    return session_limit();
}

void SessionPort::opened(SessionPeer& peer, const Hello& theirs) noexcept {
    const bool restarted = peer.incarnation() != 0 && peer.incarnation() != theirs.incarnation;
    peer.set_open(theirs, static_cast<std::uint32_t>(transport_.limits().message_bytes_max));
    end_too_large(peer);
    peer.delayed = !peer.messages.empty();
    if (restarted) host_.receiver().on_peer(peer, PeerEvent::restarted, Errc::ok);
    host_.receiver().on_peer(peer, PeerEvent::connected, Errc::ok);
}

void SessionPort::end_session(SessionPeer& peer, Errc why, const char* because) noexcept {
    if (!peer.step(SessionEvent::lost)) return;
    peer.ending_why = why;
    peer.set_lost_because(because);
    endings_.push_back(peer);
    end_waiting(peer, why);
}

void SessionPort::disconnect(Peer& peer) noexcept {
    auto& own = static_cast<SessionPeer&>(peer);
    if (!own.step(SessionEvent::disconnect)) return;
    own.ending_why = Errc::peer_lost;
    endings_.push_back(own);
    end_waiting(own, Errc::peer_lost);
}

void SessionPort::session_over(SessionPeer& peer) noexcept {
    const Errc why = peer.ending_why;
    end_connection(peer, why);
    if (peer.session_state() == SessionState::dial_failed) peer.backoff.failed(why, host_.now_us());
    peer.step(SessionEvent::unwound);
    count_sessions(-1);
    host_.receiver().on_peer(peer, PeerEvent::lost, why);
    // Dials again for operations posted since the loss.
    const bool wanted = peer.session_state() == SessionState::idle && peer.has_waiting_ops();
    if (wanted && !connect(peer)) end_waiting(peer, peer.backoff.last_failure);
    if (peer.references() == 0) unreferenced(peer);
}

// Operations.

void SessionPort::cancel(Op& op) noexcept {
    auto& peer = static_cast<SessionPeer&>(*op.peer);
    PostedOp& posted = posted_of(op);
    switch (posted.stage) {
        case OpStage::messages:
            peer.messages.remove(posted);
            return end(posted, Errc::canceled);
        case OpStage::rma:
            peer.rma.remove(posted);
            return end(posted, Errc::canceled);
        case OpStage::ended:
            return;
        default:
            return cancel_begun(peer, posted);
    }
}

void SessionPort::end_waiting(SessionPeer& peer, Errc why) noexcept {
    while (PostedOp* posted = peer.messages.pop_front()) end(*posted, why);
    while (PostedOp* posted = peer.rma.pop_front()) end(*posted, why);
}

// Waiting messages were checked against this side's limit; the peer's may be smaller.
void SessionPort::end_too_large(SessionPeer& peer) noexcept {
    for (PostedOp* posted = peer.messages.front(); posted;) {
        PostedOp& now = *std::exchange(posted, PostedOps::next(*posted));
        if (now.op->message_bytes <= peer.message_bytes_max()) continue;
        peer.messages.remove(now);
        end(now, Errc::too_large);
    }
}

unsigned SessionPort::settle_all() noexcept {
    settling_ = true;
    unsigned did = 0;
    do {
        for (; SessionPeer* peer = endings_.pop_front(); ++did) session_over(*peer);
        while (did < settle_max && complete_one()) ++did;
    } while (!endings_.empty());
    settling_ = false;
    return did;
}

bool SessionPort::complete_one() noexcept {
    PostedOp* posted = ended_.pop_front();
    if (posted) host_.complete(*posted->op, posted->result);
    return posted != nullptr;
}

// Closing.

void SessionPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    accepting_ = false;
    stop_events();
    settling_ = true;  // from now on settle() does nothing, and no session begins or ends
    while (endings_.pop_front()) continue;
    end_connections();
    peers_.each([this](SessionPeer& peer) {
        peer.reset();
        end_waiting(peer, Errc::canceled);
    });
    while (complete_one()) continue;
    release_all();
}

void SessionPort::end_connections() noexcept {
    peers_.each([this](SessionPeer& peer) { end_connection(peer, Errc::canceled); });
}

}  // namespace cinnabar::na
