// SPDX-License-Identifier: BSD-3-Clause
// OfiPort: how sessions begin and end.
#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::ofi {

Greeting OfiPort::greeting(const na::Hello& hello, const Session* session) const noexcept {
    Greeting greeting;
    greeting.hello = hello;
    if (session) greeting.session = session->name();
    greeting.set_provider(provider().name);
    const ConstBytes address = endpoint_->address();
    greeting.address_bytes = static_cast<std::uint16_t>(address.size());
    std::copy(address.begin(), address.end(), greeting.address.begin());
    return greeting;
}

void OfiPort::reject(Incoming& incoming, Errc why) noexcept {
    (void)na::send_greeting(incoming.stream, greeting(reject_hello(incoming.greeting.hello, why), nullptr).encode());
}

void OfiPort::accept(Incoming incoming) noexcept {
    const na::Hello& theirs = incoming.greeting.hello;
    if (theirs.kind != na::HelloKind::dial || na::hung_up(incoming.stream.fd())) return;
    if (const Errc refused = refusal(theirs); refused != Errc::ok) return reject(incoming, refused);
    if (incoming.greeting.provider() != provider().name) {
        static constinit LogLimit lines;
        const std::string_view theirs_uses = incoming.greeting.provider();
        log_limited(lines, LogLevel::info, "ofi", "an incoming connection uses %.*s, this side %s: rejected",
                    static_cast<int>(theirs_uses.size()), theirs_uses.data(), provider().name);
        return reject(incoming, Errc::unreachable);
    }
    const bool own = is_self_dial(incoming);
    if (is_reflected(incoming, own)) return reject(incoming, Errc::permission);
    Session* session = sessions_.acquire();
    if (!session) return reject(incoming, Errc::overloaded);
    session->reserve(*this);
    const Greeting answer = greeting(hello(na::HelloKind::accept, na::sender_of(theirs)), session);
    OfiPeer* const peer = add_incoming(
        [&] { return std::make_unique<OfiPeer>(*this, sender_addr(incoming, own), transport_, na::DialTargets()); });
    if (!peer) {
        session->end_reserved();
        return reject(incoming, Errc::overloaded);
    }
    if (!na::send_greeting(incoming.stream, answer.encode())) {
        session->end_reserved();
        return end_session(*peer, Errc::peer_lost);
    }
    begin_session(*peer, *session, std::move(incoming.stream), incoming.greeting, false);
}

void OfiPort::begin_session(OfiPeer& peer, Session& session, na::Stream stream, const Greeting& theirs,
                            bool dialled) noexcept {
    peer.session = &session;
    const Errc why = session.start(peer, std::move(stream), theirs, dialled);
    if (why != Errc::ok) end_session(peer, why);
}

void OfiPort::session_open(Session& session, const na::Hello& theirs) noexcept {
    opened(session.peer(), theirs);
    output_.add(session);
}

void OfiPort::begin_dial(na::SessionPeer& peer) noexcept {
    Session* session = sessions_.acquire();
    Dial* dial = session ? dials_.acquire() : nullptr;
    if (!dial) {
        if (session) sessions_.release(*session);
        return end_session(peer, Errc::overloaded);
    }
    session->reserve(*this);
    auto& own = static_cast<OfiPeer&>(peer);
    own.dial = dial;
    dial->start(*this, own, session, own.targets.known, own.targets.names);
}

void OfiPort::dial_done(Dial& dial, Incoming answer) noexcept {
    OfiPeer& peer = dial.peer();
    Session& session = *dial.purpose();
    drop_dial(dials_, peer.dial);
    if (const Errc why = peer.check_answer(answer.greeting.hello); why != Errc::ok) {
        session.end_reserved();
        if (why != Errc::permission || transport_.guards()) return end_session(peer, why);
        na::log_refused_without_guard(transport_.scheme(), answer.stream.fd(), "ofis+PROVIDER");
        return end_session(peer, why, "takes protected connections only: reach it by ofis+PROVIDER://");
    }
    (void)peer.step(na::SessionEvent::greeted);
    begin_session(peer, session, std::move(answer.stream), answer.greeting, true);
}

void OfiPort::dial_failed(Dial& dial, Errc why) noexcept {
    OfiPeer& peer = dial.peer();
    const char* const because = dial.failed_because(why);
    dial.purpose()->end_reserved();
    drop_dial(dials_, peer.dial);
    end_session(peer, why, because);
}

void OfiPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<OfiPeer&>(ending);
    if (Session* session = std::exchange(peer.session, nullptr)) session->end(why);
    if (peer.dial) peer.dial->purpose()->end_reserved();
    drop_dial(dials_, peer.dial);
}

}  // namespace cinnabar::ofi
