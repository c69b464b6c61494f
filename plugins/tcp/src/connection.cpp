// SPDX-License-Identifier: BSD-3-Clause
#include "connection.hpp"

#include "port.hpp"

#include <sys/epoll.h>

namespace cinnabar::tcp {

bool Connection::open(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept {
    CINNABAR_ASSERT(!is_open());
    if (!port.host().watch(stream.fd(), EPOLLIN | EPOLLRDHUP, *this)) return false;
    stream_ = std::move(stream);
    port_ = &port;
    peer_ = &peer;
    watching_room_ = false;
    // The first frames may have come with the greeting.
    if (stream_.guard() && stream_.guard()->unread()) port.unread().push_back(*this);
    return true;
}

void Connection::close() noexcept {
    CINNABAR_ASSERT(is_open());
    port_->output().remove(*this);
    port_->hot_connections().remove(*this);
    if (TcpPort::Unread::linked(*this)) port_->unread().remove(*this);
    if (stream_.guard()) stream_.guard()->end();
    // If bytes were left unread, the kernel would reset the connection and drop data on its way to the peer.
    na::discard_received(stream_.fd());
    port_->host().unwatch(stream_.fd());
    stream_.reset();
    peer_ = nullptr;
}

void Connection::watch_room(bool wanted) noexcept {
    if (wanted == watching_room_) return;
    const std::uint32_t events = EPOLLIN | EPOLLRDHUP | (wanted ? std::uint32_t{EPOLLOUT} : 0);
    if (port_->host().watch_again(stream_.fd(), events, *this)) watching_room_ = wanted;
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

// A guard may have read more than was asked for, and may answer what it read.
void Connection::list_guarded() noexcept {
    if (peer_->ending()) return;
    na::StreamGuard& guard = *stream_.guard();
    if (guard.unread() && !TcpPort::Unread::linked(*this)) port_->unread().push_back(*this);
    if (guard.unsent() && !blocked) port_->output().block(*this);
}

void Connection::transmit_guarded() noexcept {
    na::StreamGuard& guard = *stream_.guard();
    if (guard.flush()) write_lane();
    if (!guard.unsent()) return;
    if (urgent()) peer_->delayed = true;  // all that it took may be encrypted, but what comes next waits
    port_->output().block(*this);
}

void Connection::fail(Errc why) noexcept { port_->end_session(*peer_, why); }

}  // namespace cinnabar::tcp
