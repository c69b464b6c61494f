// SPDX-License-Identifier: BSD-3-Clause
#include "lane.hpp"

#include "port.hpp"

#include <sys/epoll.h>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t guarded_record_bytes = 16 * 1024;  // the approximate size of a guard's record

}  // namespace

bool Lane::open(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept {
    CINNABAR_ASSERT(!is_open());
    if (!port.host().watch(stream.fd(), EPOLLIN | EPOLLRDHUP, *this)) return false;
    stream_ = std::move(stream);
    port_ = &port;
    peer_ = &peer;
    watching_room_ = false;
    message_due_ = record_due_ = time_never;
    partial_record_ = 0;
    // The guard may have read the first frames together with the greeting.
    if (stream_.guard()) {
        list_guarded();
        port.withdrawn_credentials().began(*this);
    }
    return true;
}

void Lane::close() noexcept {
    CINNABAR_ASSERT(is_open());
    port_->output().remove(*this);
    port_->hot_lanes().remove(*this);
    port_->unread().remove(*this);
    port_->input_deadlines().remove(*this);
    port_->withdrawn_credentials().remove(*this);
    if (stream_.guard()) stream_.guard()->end();
    // If received bytes were left unread, the kernel would reset the connection and drop data on their way to the peer.
    na::discard_received(stream_.fd());
    port_->host().unwatch(stream_.fd());
    stream_.reset();
    peer_ = nullptr;
}

void Lane::watch_room(bool wanted) noexcept {
    if (wanted == watching_room_) return;
    const std::uint32_t events = EPOLLIN | EPOLLRDHUP | (wanted ? std::uint32_t{EPOLLOUT} : 0);
    if (port_->host().watch_again(stream_.fd(), events, *this)) watching_room_ = wanted;
}

void Lane::on_ready(std::uint32_t epoll_events) noexcept {
    if (!is_open()) return;
    TcpPort& port = *port_;
    if ((epoll_events & EPOLLOUT) != 0) {
        port.output().remove(*this);
        transmit();
        if (is_open() && !blocked) watch_room(false);
    }
    // An error or a hang-up is reported by the read, after the bytes that arrived before it.
    if ((epoll_events & ~std::uint32_t{EPOLLOUT}) != 0 && is_open()) (void)receive();
    (void)port.settle();
}

// Lists the lane if its guard holds bytes that it read in advance, or has an answer of its own to send.
void Lane::list_guarded() noexcept {
    if (peer_->ending()) return;
    na::StreamGuard& guard = *stream_.guard();
    if (guard.unread()) port_->unread().add(*this);
    if (guard.unsent() && !blocked) port_->output().block(*this);
    if (const std::uint64_t partial = guard.partial_record(); partial != partial_record_) note_partial_record(partial);
}

void Lane::note_partial_record(std::uint64_t number) noexcept {
    partial_record_ = number;
    record_due_ = number == 0 ? time_never : port_->input_deadlines().due(guarded_record_bytes);
    port_->input_deadlines().changed(*this);
}

void Lane::set_partial_message(std::size_t bytes) noexcept {
    message_due_ = bytes == 0 ? time_never : port_->input_deadlines().due(bytes);
    port_->input_deadlines().changed(*this);
}

void Lane::end_if_late() noexcept {
    (void)receive();  // this context may not have read for a while
    if (is_open() && !peer_->ending() && rest_due() <= port_->host().now_us()) fail(Errc::timed_out);
}

void Lane::transmit_guarded() noexcept {
    na::StreamGuard& guard = *stream_.guard();
    if (guard.flush()) write_lane();
    if (!guard.unsent()) return;
    if (urgent()) peer_->delayed = true;  // the guard may have taken all messages, but the next ones must wait
    port_->output().block(*this);
}

void Lane::fail(Errc why) noexcept { port_->end_session(*peer_, why); }

}  // namespace cinnabar::tcp
