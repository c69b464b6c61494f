// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::ofi {
bool send_card(int fd, const Card& card) noexcept {
    std::array<std::byte, Card::bytes> bytes;
    card.encode(bytes);
    return na::send_greeting(fd, bytes);
}

void Dial::start(OfiPort& port, OfiPeer& peer, Session& session) noexcept {
    port_ = &port;
    peer_ = &peer;
    session_ = &session;
    begin(port.host(), port.transport().own_dials(), peer.places.known, peer.places.names, port.transport().source(),
          Card::bytes, port.options().connect_timeout);
}

void Dial::give_up() noexcept {
    abandon();
    peer_ = nullptr;
    session_ = nullptr;
}

std::size_t Dial::greet(Bytes room) noexcept {
    const na::Hello hello =
        port_->hello(na::HelloKind::dial, {peer_->addr().body().incarnation, peer_->remote_context()});
    port_->card(hello, session_).encode(room.first<Card::bytes>());
    return Card::bytes;
}

Errc Dial::answered(UniqueFd& fd, ConstBytes answer) noexcept {
    Card card;
    const Errc wrong = Card::decode(answer, card);
    if (wrong == Errc::ok) port_->dial_done(*this, std::move(fd), card);
    return wrong;
}

void Dial::failed(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::settle() noexcept { (void)port_->settle(); }

void Newcomer::start(OfiPort& port, UniqueFd fd) noexcept {
    port_ = &port;
    begin(port.host(), std::move(fd), Card::bytes, port.options().hello_timeout);
}

void Newcomer::left() noexcept { port_->newcomers().left(*this); }

void Newcomer::greeted(UniqueFd& fd, ConstBytes greeting) noexcept {
    OfiPort& port = *port_;
    Caller caller;
    const Errc wrong = Card::decode(greeting, caller.card);
    if (wrong == Errc::protocol) {
        static constinit LogLimit lines;
        return log_limited(lines, LogLevel::info, "ofi: %s is no Cinnabar peer on a fabric: dropped",
                           SocketAddress::peer_of(fd.get()).endpoint("tcp").c_str());
    }
    caller.fd = std::move(fd);
    Errc refused = wrong;
    if (wrong == Errc::ok && caller.card.hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(caller));
    } else if (wrong == Errc::ok) {
        refused = port.transport().hand_over(caller);
    }
    if (refused != Errc::ok) port.reject(caller, refused);
    (void)port.settle();
}

}  // namespace cinnabar::ofi
