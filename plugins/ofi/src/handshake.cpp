// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::ofi {
namespace {

// How long a call that is announced is awaited. It was made before the announcement.
constexpr TimeUs call_us = 200'000;

}  // namespace

bool send_card(int fd, const Card& card) noexcept {
    std::array<std::byte, Card::bytes> bytes;
    card.encode(bytes);
    return na::send_greeting(fd, bytes);
}

Dial::Dial() noexcept {
    call_timer_.owner = this;
    call_timer_.fire = &Dial::no_call_came;
}

void Dial::start(OfiPort& port, OfiPeer& peer, Session& session) noexcept {
    port_ = &port;
    peer_ = &peer;
    session_ = &session;
    begin(port.host(), peer.candidates, port.transport().source(), Card::bytes, port.options().connect_timeout);
}

void Dial::wait_for_call() noexcept {
    abandon();
    port_->host().arm(call_timer_, port_->host().now_us() + call_us);
}

void Dial::give_up() noexcept {
    abandon();
    port_->host().disarm(call_timer_);
    peer_ = nullptr;
    session_ = nullptr;
}

bool Dial::means(const Card& caller, const SocketAddress& host) const noexcept {
    if (!peer_ || peer_->remote_context() != caller.hello.context) return false;
    if (const na::Incarnation wanted = peer_->addr().body().incarnation; wanted != 0) {
        return wanted == caller.hello.incarnation;
    }
    return target().same_host(host) && target().port() == caller.listens_at;
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

void Dial::no_call_came(Timer& timer) noexcept {
    Dial& self = TimerOf<Dial>::owner_of(timer);
    OfiPort& port = *self.port_;
    port.dial_again(self);
    (void)port.settle();
}

void Newcomer::start(OfiPort& port, UniqueFd fd) noexcept {
    port_ = &port;
    begin(port.host(), std::move(fd), Card::bytes, port.options().hello_timeout);
}

void Newcomer::left() noexcept { port_->newcomers().left(*this); }

void Newcomer::greeted(UniqueFd& fd, ConstBytes greeting) noexcept {
    OfiPort& port = *port_;
    Caller caller;
    if (Card::decode(greeting, caller.card) != Errc::ok) {
        return log(LogLevel::info, "ofi: %s is no Cinnabar peer on a fabric: dropped",
                   SocketAddress::peer_of(fd.get()).endpoint("tcp").c_str());
    }
    caller.fd = std::move(fd);
    if (caller.card.hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(caller));
    } else if (!port.transport().hand_over(caller)) {
        port.reject(caller, Errc::unreachable);
    }
    (void)port.settle();
}

}  // namespace cinnabar::ofi
