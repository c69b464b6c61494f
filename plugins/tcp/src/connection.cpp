// SPDX-License-Identifier: BSD-3-Clause
#include "connection.hpp"

#include "port.hpp"

#include <sys/epoll.h>

namespace cinnabar::tcp {

bool Connection::open(TcpPort& port, TcpPeer& peer, UniqueFd fd) noexcept {
    CINNABAR_ASSERT(!is_open());
    if (!port.host().watch(fd.get(), EPOLLIN | EPOLLRDHUP, *this)) return false;
    fd_ = std::move(fd);
    port_ = &port;
    peer_ = &peer;
    watching_room_ = false;
    return true;
}

void Connection::close() noexcept {
    CINNABAR_ASSERT(is_open());
    port_->output().remove(*this);
    port_->hot_connections().remove(*this);
    // If bytes were left unread, the kernel would reset the connection and drop data on its way to the peer.
    na::discard_received(fd_.get());
    port_->host().unwatch(fd_.get());
    fd_.reset();
    peer_ = nullptr;
}

void Connection::watch_room(bool wanted) noexcept {
    if (wanted == watching_room_) return;
    const std::uint32_t events = EPOLLIN | EPOLLRDHUP | (wanted ? std::uint32_t{EPOLLOUT} : 0);
    if (port_->host().watch_again(fd_.get(), events, *this)) watching_room_ = wanted;
}

void Connection::on_ready(std::uint32_t epoll_events) noexcept {
    if (!is_open()) return;
    TcpPort& port = *port_;
    if ((epoll_events & EPOLLOUT) != 0) {
        port.output().remove(*this);
        transmit();
        if (is_open() && !blocked) watch_room(false);
    }
    // The read reports an error or a hang-up, after the bytes that came before it.
    if ((epoll_events & ~std::uint32_t{EPOLLOUT}) != 0 && is_open()) (void)receive();
    (void)port.settle();
}

void Connection::fail(Errc why) noexcept { port_->end_session(*peer_, why); }

}  // namespace cinnabar::tcp
