// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>

#include <algorithm>

namespace cinnabar::tcp {

Errc HelloReader::read(int fd, na::Hello& out) noexcept {
    const Moved moved = receive_some(fd, bytes_.data() + have_, bytes_.size() - have_);
    if (moved.why != Errc::ok) return moved.why;
    have_ = static_cast<std::uint8_t>(have_ + moved.bytes);
    return have_ < bytes_.size() ? Errc::again : na::Hello::decode(bytes_, out);
}

bool send_hello(int fd, const na::Hello& hello) noexcept {
    std::array<std::byte, na::hello_bytes> bytes{};
    hello.encode(bytes);
    return send_some(fd, bytes.data(), bytes.size()).bytes == bytes.size();
}

void Dial::start(TcpPort& port, TcpPeer& peer, Lane lane, bool separate) noexcept {
    CINNABAR_ASSERT(!peer_);
    port_ = &port;
    peer_ = &peer;
    lane_ = lane;
    separate_ = separate;
    next_candidate_ = 0;
    timer_.owner = this;
    timer_.fire = &Dial::time_out;
    port.host().arm(timer_, after(port.host().now_us(), port.options().connect_timeout));
    try_next(Errc::unreachable);
}

void Dial::abandon() noexcept {
    unwatch();
    port_->host().disarm(timer_);
    peer_ = nullptr;
}

bool Dial::watch(std::uint32_t events, int how) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    return ::epoll_ctl(port_->host().epoll_fd(), how, fd_.get(), &event) == 0;
}

void Dial::unwatch() noexcept {
    if (!fd_) return;
    (void)::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    fd_.reset();
}

// Goes on with the next address; with none left, `why` is the outcome.
void Dial::try_next(Errc why) noexcept {
    unwatch();
    connected_ = false;
    reader_.reset();
    // A further lane goes where the first one went.
    const SocketAddress first_lane = lane_ == Lane::bulk ? SocketAddress::peer_of(peer_->lane->fd()) : SocketAddress();
    for (;;) {
        const std::size_t count = lane_ == Lane::bulk ? 1 : peer_->candidates.size();
        if (next_candidate_ == count) return fail(why);
        target_ = lane_ == Lane::bulk ? first_lane : peer_->candidates[next_candidate_];
        ++next_candidate_;
        why = start_connect(target_, port_->transport().source(), fd_);
        if (why == Errc::ok && watch(EPOLLOUT, EPOLL_CTL_ADD)) return;
        if (why == Errc::ok) why = Errc::overloaded;
        fd_.reset();
    }
}

void Dial::on_ready(std::uint32_t) noexcept {
    if (!peer_) return;
    if (!connected_) {
        const Errc outcome = connect_outcome(fd_.get());
        if (outcome == Errc::again) return;
        if (outcome == Errc::ok) {
            connected();
        } else {
            try_next(outcome);
        }
        return (void)port_->settle();
    }
    na::Hello answer;
    const Errc came = reader_.read(fd_.get(), answer);
    if (came == Errc::again) return;
    TcpPort& port = *port_;
    if (came != Errc::ok) {
        // Whoever answers is not one of us, or closed at once: another address of the peer may be better.
        try_next(came);
    } else {
        UniqueFd fd = std::move(fd_);
        (void)::epoll_ctl(port.host().epoll_fd(), EPOLL_CTL_DEL, fd.get(), nullptr);
        port.dial_done(*this, std::move(fd), answer);
    }
    (void)port.settle();
}

void Dial::connected() noexcept {
    connected_ = true;
    // A dial to a port of the ephemeral range that nobody listens on can meet itself.
    if (SocketAddress::local_of(fd_.get()) == SocketAddress::peer_of(fd_.get())) return try_next(Errc::refused);
    const na::Incarnation wanted = lane_ == Lane::bulk ? peer_->identity.incarnation  //
                                                       : peer_->addr().body().incarnation;
    na::Hello hello = port_->hello(lane_ == Lane::bulk ? na::HelloKind::lane : na::HelloKind::dial,
                                   {wanted, peer_->remote_context()});
    hello.lane = static_cast<std::uint8_t>(lane_);
    if (lane_ == Lane::bulk) hello.nonce = peer_->terms.token;
    if (separate_) hello.reason = static_cast<std::uint8_t>(Errc::exists);
    if (!send_hello(fd_.get(), hello) || !watch(EPOLLIN, EPOLL_CTL_MOD)) try_next(Errc::peer_lost);
}

void Dial::fail(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::time_out(Timer& timer) noexcept {
    Dial& self = TimerOf<Dial>::owner_of(timer);
    TcpPort& port = *self.port_;
    self.fail(self.connected_ ? Errc::timed_out : Errc::unreachable);
    (void)port.settle();
}

void Newcomer::start(TcpPort& port, UniqueFd fd) noexcept {
    CINNABAR_ASSERT(!port_);
    port_ = &port;
    fd_ = std::move(fd);
    reader_.reset();
    timer_.owner = this;
    timer_.fire = &Newcomer::time_out;
    port.host().arm(timer_, after(port.host().now_us(), port.options().hello_timeout));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    if (::epoll_ctl(port.host().epoll_fd(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) drop();
}

void Newcomer::stop_watching() noexcept {
    (void)::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    port_->host().disarm(timer_);
}

void Newcomer::drop() noexcept {
    stop_watching();
    fd_.reset();
    std::exchange(port_, nullptr)->newcomers().left(*this);
}

void Newcomer::time_out(Timer& timer) noexcept { TimerOf<Newcomer>::owner_of(timer).drop(); }

void Newcomer::on_ready(std::uint32_t) noexcept {
    if (!port_) return;
    na::Hello hello;
    const Errc came = reader_.read(fd_.get(), hello);
    if (came == Errc::again) return;
    if (came != Errc::ok) {
        if (came == Errc::protocol) {
            log(LogLevel::info, "tcp: %s is no Cinnabar peer: dropped",
                SocketAddress::peer_of(fd_.get()).endpoint().c_str());
        }
        return drop();
    }
    stop_watching();
    UniqueFd fd = std::move(fd_);
    TcpPort& port = *std::exchange(port_, nullptr);
    port.newcomers().left(*this);
    if (hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(fd), hello);
    } else if (!port.transport().hand_over(fd, hello)) {
        na::Hello answer = port.hello(na::HelloKind::reject, {hello.incarnation, hello.context});
        answer.reason = static_cast<std::uint8_t>(Errc::unreachable);
        (void)send_hello(fd.get(), answer);
    }
    (void)port.settle();
}

}  // namespace cinnabar::tcp
