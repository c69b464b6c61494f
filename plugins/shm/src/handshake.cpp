// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "channel.hpp"
#include "port.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>

#include <algorithm>

namespace cinnabar::shm {
namespace {

// A listener whose queue is full is asked again after this.
constexpr TimeUs retry_us = 1000;
}  // namespace

void Dial::start(ShmPort& port, ShmPeer& peer) noexcept {
    CINNABAR_ASSERT(!peer_);
    port_ = &port;
    peer_ = &peer;
    stage_ = Stage::connecting;
    timer_.owner = this;
    timer_.fire = &Dial::time_out;
    // The round's time may be as old as the context's last look at its network.
    until_ = after(steady_clock().now_us(), port.options().connect_timeout);
    failed_ = make_ring(port.transport(), ring_, ring_fd_);
    if (failed_ == Errc::ok) failed_ = go();
    if (failed_ == Errc::again) failed_ = Errc::ok;
    if (failed_ == Errc::ok && stage_ == Stage::greeted) return port.host().arm(timer_, until_);
    // A failure is told after this call, and a full queue is tried again.
    port.host().arm(timer_, port.host().now_us() + (failed_ == Errc::ok ? retry_us : 0));
}

// again: the listener's queue is full.
Errc Dial::go() noexcept {
    if (const Errc why = connect_to(peer_->listens_at.path, fd_); why != Errc::ok) return why;
    const Credentials who = credentials_of(fd_.get());
    if (!may_be_peer(fd_.get(), who, peer_->listens_at.group)) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "shm: a process of user %u listens at %s: it is not greeted", who.uid,
                    peer_->listens_at.path.c_str());
        return Errc::permission;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    if (::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) return Errc::overloaded;
    watched_ = true;
    stage_ = Stage::greeted;
    const na::Hello hello =
        port_->hello(na::HelloKind::dial, {peer_->addr().body().incarnation, peer_->remote_context()});
    const OwnFds fds = port_->own_fds(ring_fd_.get(), who);
    if (!send_greeting(fd_.get(), hello, port_->terms(who), &fds)) return Errc::peer_lost;
    ring_fd_.reset();
    return Errc::ok;
}

void Dial::abandon() noexcept {
    unwatch();
    port_->host().disarm(timer_);
    ring_.reset();
    ring_fd_.reset();
    peer_ = nullptr;
}

void Dial::unwatch() noexcept {
    if (watched_) (void)::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    watched_ = false;
    fd_.reset();
}

void Dial::on_ready(std::uint32_t) noexcept {
    if (!peer_ || stage_ != Stage::greeted) return;
    ShmPort& port = *port_;
    Caller answer;
    const Errc came = receive_greeting(fd_.get(), answer.greeting);
    if (came == Errc::again) return;
    if (came != Errc::ok) {
        fail(came);
    } else {
        answer.who = credentials_of(fd_.get());
        (void)::epoll_ctl(port.host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
        watched_ = false;
        answer.fd = std::move(fd_);
        port.dial_done(*this, std::move(answer), std::move(ring_));
    }
    (void)port.settle();
}

void Dial::fail(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::go_on() noexcept {
    if (failed_ != Errc::ok) return fail(failed_);
    if (stage_ != Stage::connecting) return fail(Errc::timed_out);
    const Errc why = go();
    const TimeUs now = port_->host().now_us();
    if (why == Errc::ok) return port_->host().arm(timer_, until_);
    if (why != Errc::again) return fail(why);
    if (now >= until_) return fail(Errc::unreachable);
    port_->host().arm(timer_, std::min(until_, now + retry_us));
}

void Dial::time_out(Timer& timer) noexcept {
    Dial& self = TimerOf<Dial>::owner_of(timer);
    ShmPort& port = *self.port_;
    self.go_on();
    (void)port.settle();
}

void Newcomer::start(ShmPort& port, UniqueFd fd) noexcept {
    CINNABAR_ASSERT(!port_);
    port_ = &port;
    fd_ = std::move(fd);
    timer_.owner = this;
    timer_.fire = &Newcomer::time_out;
    port.host().arm(timer_, after(steady_clock().now_us(), port.options().hello_timeout));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    if (::epoll_ctl(port.host().epoll_fd(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) return drop();
    on_ready(EPOLLIN);  // callers greet as soon as they are in the queue
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
    Caller caller;
    const Errc came = receive_greeting(fd_.get(), caller.greeting);
    if (came == Errc::again) return;
    if (came != Errc::ok && came != Errc::unsupported) {
        if (came == Errc::protocol) {
            static constinit LogLimit lines;
            log_limited(lines, LogLevel::info, "shm: somebody who is no Cinnabar peer called: dropped");
        }
        if (came == Errc::overloaded) {
            static constinit LogLimit lines;
            log_limited(lines, LogLevel::warning, "shm: a caller is dropped: raise the limit of open files");
        }
        return drop();
    }
    stop_watching();
    caller.who = credentials_of(fd_.get());
    caller.fd = std::move(fd_);
    ShmPort& port = *std::exchange(port_, nullptr);
    port.newcomers().left(*this);
    const na::Hello hello = caller.greeting.hello;
    if (!port.transport().welcome(caller.fd.get(), caller.who)) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::info, "shm: a process of user %u called, who is not let in", caller.who.uid);
        port.reject(caller, Errc::permission);
    } else if (came != Errc::ok) {
        port.reject(caller, came);
    } else if (hello.peer_context == port.host().context_id()) {
        port.came_in(std::move(caller));
    } else if (const Errc refused = port.transport().hand_over(caller); refused != Errc::ok) {
        port.reject(caller, refused);
    }
    (void)port.settle();
}

}  // namespace cinnabar::shm
