// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/socket.hpp>
#include <cinnabar/na/session/socket_dial.hpp>

#include <sys/epoll.h>

#include <utility>

namespace cinnabar::na {

SocketDial::SocketDial() noexcept { timer_.bind<&SocketDial::time_out>(*this); }

void SocketDial::begin(PortHost& host, SelfDials& self_dials, std::span<const SocketAddress> targets,
                       std::span<const Uri> names, const SocketAddress* source, std::size_t answer_bytes,
                       Microseconds timeout) noexcept {
    CINNABAR_ASSERT(!host_);
    host_ = &host;
    self_dials_ = &self_dials;
    targets_.begin(targets, names);
    source_ = source;
    answer_bytes_ = answer_bytes;
    connected_ = false;
    guard_failed_ = Errc::ok;
    because_ = nullptr;
    // Reads the clock, because the time of the round may be as old as the context's last poll.
    host.arm(timer_, after(steady_clock().now_us(), timeout));
    try_next(Errc::unreachable);
}

void SocketDial::abandon() noexcept {
    if (!host_) return;
    unwatch();
    targets_.abandon();
    host_->disarm(timer_);
    host_ = nullptr;
}

void SocketDial::unwatch() noexcept {
    if (!stream_) return;
    answer_is_there();
    stream_.reset();
}

// Cleans up when the answer has arrived or can no longer arrive.
void SocketDial::answer_is_there() noexcept {
    host_->unwatch(stream_.fd());
    if (connected_) self_dials_->remove(local_, remote_);
    connected_ = greeted_ = false;
}

// Continues with the next address; if none is left, the dial fails with `why`.
void SocketDial::try_next(Errc why) noexcept {
    if (const char* const because = stream_.guard() ? stream_.guard()->failed_because() : nullptr) {
        guard_failed_ = why;
        because_ = because;
    }
    unwatch();
    for (;;) {
        SocketAddress target;
        const Errc next = targets_.next(*host_, why, target);
        if (next == Errc::again) return;
        if (next != Errc::ok) return failed(next);
        UniqueFd fd;
        why = start_connect(target, source_, fd);
        watched_ = EPOLLOUT;
        stream_ = Stream(std::move(fd));
        if (why == Errc::ok && host_->watch(stream_.fd(), watched_, *this)) return;
        if (why == Errc::ok) why = Errc::overloaded;
        stream_.reset();
    }
}

void SocketDial::names_answered(void* self, Errc why) noexcept {
    auto& dial = *static_cast<SocketDial*>(self);
    dial.try_next(why);
    dial.settle();
}

void SocketDial::on_ready(std::uint32_t) noexcept {
    if (!host_) return;
    if (!connected_) {
        const Errc outcome = connect_outcome(stream_.fd());
        if (outcome == Errc::again) return;
        if (outcome == Errc::ok) {
            connected();
        } else {
            try_next(outcome);
        }
        return settle();
    }
    if (!greeted_) {
        establish();
        return settle();
    }
    const Errc came = reader_.read(stream_);
    if (came == Errc::again) return;
    if (came != Errc::ok) {
        // The connection was closed before an answer: another address of the peer may work.
        try_next(came);
        return settle();
    }
    answer_is_there();
    Stream stream = std::move(stream_);
    if (const Errc why = answered(stream, reader_.bytes()); why != Errc::ok) try_next(why);
    settle();
}

void SocketDial::connected() noexcept {
    local_ = SocketAddress::local_of(stream_.fd());
    remote_ = SocketAddress::peer_of(stream_.fd());
    // A dial to a port of the ephemeral range on which nobody listens can connect to its own socket.
    if (local_ == remote_) return try_next(Errc::refused);
    if (!self_dials_->add(local_, remote_)) return try_next(Errc::out_of_memory);
    connected_ = true;
    if (const Errc why = protect(stream_); why != Errc::ok) return try_next(why);
    if (stream_.guard()) return establish();
    greet_now();
}

void SocketDial::establish() noexcept {
    const Errc came = establish_guard(*host_, stream_, *this, watched_);
    if (came == Errc::again) return;
    if (came != Errc::ok) return try_next(came);
    greet_now();
}

void SocketDial::greet_now() noexcept {
    greeted_ = true;
    std::array<std::byte, greeting_bytes_max> greeting;
    const std::size_t bytes = greet(greeting);
    reader_.expect(answer_bytes_);
    const bool sent = send_greeting(stream_, {greeting.data(), bytes});
    if (!sent || (watched_ != EPOLLIN && !host_->watch_again(stream_.fd(), EPOLLIN, *this))) {
        return try_next(Errc::peer_lost);
    }
    watched_ = EPOLLIN;
}

void SocketDial::time_out() noexcept {
    failed(connected_ ? Errc::timed_out : Errc::unreachable);
    settle();
}

}  // namespace cinnabar::na
