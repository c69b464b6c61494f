// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>

namespace cinnabar::tcp {

bool send_greeting(int fd, const Greeting& greeting) noexcept { return na::send_greeting(fd, greeting.encode()); }

void Dial::start(TcpPort& port, TcpPeer& peer, Lane lane) noexcept {
    port_ = &port;
    peer_ = &peer;
    lane_ = lane;
    std::span<const SocketAddress> places = peer.places.known;
    std::span<const na::Uri> names = peer.places.names;
    if (lane == Lane::bulk) {
        first_lane_ = SocketAddress::peer_of(peer.lane->fd());
        places = {&first_lane_, 1};
        names = {};
    }
    begin(port.host(), port.transport().own_dials(), places, names, port.transport().source(), greeting_bytes,
          port.options().connect_timeout);
}

std::size_t Dial::greet(Bytes room) noexcept {
    const na::Incarnation wanted = lane_ == Lane::bulk ? peer_->incarnation()  //
                                                       : peer_->addr().body().incarnation;
    Greeting greeting;
    greeting.hello = port_->hello(lane_ == Lane::bulk ? na::HelloKind::lane : na::HelloKind::dial,
                                  {wanted, peer_->remote_context()});
    greeting.hello.lane = static_cast<std::uint8_t>(lane_);
    if (lane_ == Lane::bulk) greeting.token = peer_->terms.token;
    const auto bytes = greeting.encode();
    std::copy(bytes.begin(), bytes.end(), room.begin());
    return bytes.size();
}

Errc Dial::answered(UniqueFd& fd, ConstBytes answer) noexcept {
    Greeting greeting;
    const Errc wrong = Greeting::decode(answer, greeting);
    if (wrong == Errc::ok) port_->dial_done(*this, std::move(fd), greeting);
    return wrong;
}

void Dial::failed(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::settle() noexcept { (void)port_->settle(); }

void Newcomer::start(TcpPort& port, UniqueFd fd) noexcept {
    port_ = &port;
    begin(port.host(), std::move(fd), greeting_bytes, port.options().hello_timeout);
}

void Newcomer::left() noexcept { port_->newcomers().left(*this); }

void Newcomer::greeted(UniqueFd& fd, ConstBytes bytes) noexcept {
    TcpPort& port = *port_;
    Greeting greeting;
    const Errc wrong = Greeting::decode(bytes, greeting);
    if (wrong == Errc::protocol) {
        static constinit LogLimit lines;
        return log_limited(lines, LogLevel::info, "tcp: %s is no Cinnabar peer: dropped",
                           SocketAddress::peer_of(fd.get()).endpoint("tcp").c_str());
    }
    Handover newcomer{std::move(fd), greeting};
    Errc refused = wrong;
    if (wrong == Errc::ok && greeting.hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(newcomer));
    } else if (wrong == Errc::ok) {
        refused = port.transport().hand_over(newcomer);
    }
    if (refused != Errc::ok) port.reject(newcomer.fd.get(), greeting.hello, refused);
    (void)port.settle();
}

}  // namespace cinnabar::tcp
