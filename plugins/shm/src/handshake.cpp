// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include "channel.hpp"
#include "port.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

namespace cinnabar::shm {
namespace {

// The interval at which a dial retries while the listener's queue is full.
constexpr TimeUs retry_us = 1000;

bool keeps_too_many(uid_t user) noexcept {
    if (!LateCloses::of_process().crowded_by(user)) return false;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "shm",
                "connections of user %u are rejected: %zu descriptors from that user wait to be closed; see which "
                "(/proc/%d/fd), and end the process that blocks them",
                user, LateCloses::of_user_max, ::getpid());
    return true;
}

}  // namespace

void Dial::start(ShmPort& port, ShmPeer& peer) noexcept {
    CINNABAR_ASSERT(!peer_);
    port_ = &port;
    peer_ = &peer;
    stage_ = Stage::connecting;
    timer_.bind<&Dial::time_out>(*this);
    // host().now_us() may be as old as the context's last round, so the clock is read.
    until_ = after(steady_clock().now_us(), port.options().connect_timeout);
    failed_ = make_incoming_ring(port.transport(), incoming_ring_, ring_fd_);
    if (failed_ == Errc::ok) failed_ = start_connecting();
    if (failed_ == Errc::again) failed_ = Errc::ok;
    if (failed_ == Errc::ok && stage_ == Stage::greeted) return port.host().arm(timer_, until_);
    // The timer reports the failure after this call, or retries if the queue was full.
    port.host().arm(timer_, port.host().now_us() + (failed_ == Errc::ok ? retry_us : 0));
}

// Connects and greets. again: the listener's queue is full.
Errc Dial::start_connecting() noexcept {
    UniqueFd socket;
    if (const Errc why = connect_to(peer_->target.path, socket); why != Errc::ok) return why;
    const Credentials listener = credentials_of(socket.get());
    fd_ = PeerFd::socket(std::move(socket), listener.uid);
    if (!may_be_peer(fd_.get(), listener, peer_->target.group)) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "shm", "a process of user %u listens at %s: the dial fails", listener.uid,
                    peer_->target.path.c_str());
        return Errc::permission;
    }
    if (keeps_too_many(listener.uid)) return Errc::overloaded;
    if (!port_->host().watch(fd_.get(), EPOLLIN, *this)) return Errc::overloaded;
    watched_ = true;
    stage_ = Stage::greeted;
    flag_ = port_->flag_for(listener);
    const OwnFds fds = port_->own_fds(ring_fd_.get(), listener, flag_);
    const na::Hello hello = port_->hello(na::HelloKind::dial, peer_->wanted());
    if (!send_greeting(fd_.get(), hello, port_->terms(listener, flag_), &fds)) return Errc::peer_lost;
    ring_fd_.reset();
    return Errc::ok;
}

void Dial::abandon() noexcept {
    unwatch();
    port_->host().disarm(timer_);
    incoming_ring_.reset();
    ring_fd_.reset();
    flag_.reset();
    peer_ = nullptr;
}

void Dial::unwatch() noexcept {
    if (watched_) port_->host().unwatch(fd_.get());
    watched_ = false;
    fd_.reset();
}

void Dial::on_ready(std::uint32_t) noexcept {
    if (!peer_ || stage_ != Stage::greeted) return;
    ShmPort& port = *port_;
    Incoming answer;
    const Errc came = receive_greeting(fd_.get(), answer.greeting);
    if (came == Errc::again) return;
    if (came != Errc::ok) {
        fail(came);
    } else {
        answer.credentials = credentials_of(fd_.get());
        port.host().unwatch(fd_.get());
        watched_ = false;
        answer.fd = std::move(fd_);
        port.dial_done(*this, std::move(answer), std::move(incoming_ring_), std::move(flag_));
    }
    (void)port.settle();
}

void Dial::fail(Errc why) noexcept { port_->dial_failed(*this, why); }

void Dial::continue_dial() noexcept {
    if (failed_ != Errc::ok) return fail(failed_);
    if (stage_ != Stage::connecting) return fail(Errc::timed_out);
    const Errc why = start_connecting();
    const TimeUs now = port_->host().now_us();
    if (why == Errc::ok) return port_->host().arm(timer_, until_);
    if (why != Errc::again) return fail(why);
    if (now >= until_) return fail(Errc::unreachable);
    port_->host().arm(timer_, std::min(until_, now + retry_us));
}

void Dial::time_out() noexcept {
    ShmPort& port = *port_;
    continue_dial();
    (void)port.settle();
}

void IncomingHandshake::start(ShmPort& port, UniqueFd fd) noexcept {
    CINNABAR_ASSERT(!port_);
    port_ = &port;
    const uid_t user = credentials_of(fd.get()).uid;
    fd_ = PeerFd::socket(std::move(fd), user);
    timer_.bind<&IncomingHandshake::drop>(*this);
    port.host().arm(timer_, after(steady_clock().now_us(), port.options().hello_timeout));
    if (!port.host().watch(fd_.get(), EPOLLIN, *this)) return drop();
    on_ready(EPOLLIN);  // the greeting has often arrived already
}

void IncomingHandshake::stop_watching() noexcept {
    port_->host().unwatch(fd_.get());
    port_->host().disarm(timer_);
}

void IncomingHandshake::drop() noexcept {
    stop_watching();
    fd_.reset();
    std::exchange(port_, nullptr)->handshakes().left(*this);
}

void IncomingHandshake::on_ready(std::uint32_t) noexcept {
    if (!port_) return;
    Incoming incoming;
    Errc came = receive_greeting(fd_.get(), incoming.greeting);
    if (came == Errc::again) return;
    if (came != Errc::ok && came != Errc::unsupported) {
        if (came == Errc::protocol) {
            static constinit LogLimit lines;
            log_limited(lines, LogLevel::info, "shm", "an incoming connection is not a Cinnabar peer: dropped");
        }
        if (came == Errc::overloaded) {
            static constinit LogLimit lines;
            log_limited(lines, LogLevel::warning, "shm",
                        "an incoming connection is dropped: raise the limit of open files");
        }
        return drop();
    }
    stop_watching();
    incoming.credentials = credentials_of(fd_.get());
    incoming.fd = std::move(fd_);
    ShmPort& port = *std::exchange(port_, nullptr);
    port.handshakes().left(*this);
    if (!port.transport().welcome(incoming.fd.get(), incoming.credentials)) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::info, "shm", "a process of user %u may not connect: rejected",
                    incoming.credentials.uid);
        came = Errc::permission;
    } else if (keeps_too_many(incoming.credentials.uid)) {
        came = Errc::overloaded;
    }
    port.greeted(std::move(incoming), came);
}

}  // namespace cinnabar::shm
