// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::tcp {

bool send_hello(int fd, const na::Hello& hello) noexcept {
    std::array<std::byte, na::hello_bytes> bytes{};
    hello.encode(bytes);
    return na::send_greeting(fd, bytes);
}

void Dial::start(TcpPort& port, TcpPeer& peer, Lane lane, bool separate) noexcept {
    port_ = &port;
    peer_ = &peer;
    lane_ = lane;
    separate_ = separate;
    std::span<const SocketAddress> places = peer.candidates;
    if (lane == Lane::bulk) {
        first_lane_ = SocketAddress::peer_of(peer.lane->fd());
        places = {&first_lane_, 1};
    }
    begin(port.host(), places, port.transport().source(), na::hello_bytes, port.options().connect_timeout);
}

std::size_t Dial::greet(Bytes room) noexcept {
    const na::Incarnation wanted = lane_ == Lane::bulk ? peer_->identity.incarnation  //
                                                       : peer_->addr().body().incarnation;
    na::Hello hello = port_->hello(lane_ == Lane::bulk ? na::HelloKind::lane : na::HelloKind::dial,
                                   {wanted, peer_->remote_context()});
    hello.lane = static_cast<std::uint8_t>(lane_);
    if (lane_ == Lane::bulk) hello.nonce = peer_->terms.token;
    if (separate_) hello.reason = static_cast<std::uint8_t>(Errc::exists);
    hello.encode(room.first<na::hello_bytes>());
    return na::hello_bytes;
}

Errc Dial::answered(UniqueFd& fd, ConstBytes answer) noexcept {
    na::Hello hello;
    const Errc wrong = na::Hello::decode(answer, hello);
    if (wrong == Errc::ok) port_->dial_done(*this, std::move(fd), hello);
    return wrong;
}

void Dial::failed(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::settle() noexcept { (void)port_->settle(); }

void Newcomer::start(TcpPort& port, UniqueFd fd) noexcept {
    port_ = &port;
    begin(port.host(), std::move(fd), na::hello_bytes, port.options().hello_timeout);
}

void Newcomer::left() noexcept { port_->newcomers().left(*this); }

void Newcomer::greeted(UniqueFd& fd, ConstBytes greeting) noexcept {
    TcpPort& port = *port_;
    na::Hello hello;
    if (na::Hello::decode(greeting, hello) != Errc::ok) {
        return log(LogLevel::info, "tcp: %s is no Cinnabar peer: dropped",
                   SocketAddress::peer_of(fd.get()).endpoint("tcp").c_str());
    }
    if (hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(fd), hello);
    } else if (!port.transport().hand_over(fd, hello)) {
        na::Hello answer = port.hello(na::HelloKind::reject, na::sender_of(hello));
        answer.reason = static_cast<std::uint8_t>(Errc::unreachable);
        (void)send_hello(fd.get(), answer);
    }
    (void)port.settle();
}

}  // namespace cinnabar::tcp
