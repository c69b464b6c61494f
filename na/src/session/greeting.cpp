// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/epoll.h>

#include <utility>

namespace cinnabar::na {
namespace {

// Continues the handshake of a stream's guard. `watched`: the epoll events for which `ready` watches the socket.
Errc establish_over(PortHost& host, Stream& stream, FdEvents& ready, std::uint32_t& watched) noexcept {
    std::uint32_t wanted = EPOLLIN;
    const Errc came = stream.guard()->establish(wanted);
    if ((came != Errc::ok && came != Errc::again) || wanted == watched) return came;
    if (!host.watch_again(stream.fd(), wanted, ready)) return Errc::overloaded;
    watched = wanted;
    return came;
}

}  // namespace

void GreetingReader::expect(std::size_t bytes) noexcept {
    CINNABAR_ASSERT(bytes > 0 && bytes <= bytes_.size());
    have_ = 0;
    need_ = bytes;
}

Errc GreetingReader::read(Stream& stream) noexcept {
    const Moved moved = stream.receive(bytes_.data() + have_, need_ - have_);
    if (moved.why != Errc::ok) return moved.why;
    have_ += moved.bytes;
    return have_ < need_ ? Errc::again : Errc::ok;
}

bool send_greeting(Stream& stream, ConstBytes greeting) noexcept {
    const bool taken = stream.send(greeting.data(), greeting.size()).bytes == greeting.size();
    return taken && (!stream.guard() || !stream.guard()->unsent());
}

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
    const Errc came = establish_over(*host_, stream_, *this, watched_);
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

SocketHandshake::SocketHandshake() noexcept { timer_.bind<&SocketHandshake::drop>(*this); }

void SocketHandshake::begin(PortHost& host, UniqueFd fd, std::size_t greeting_bytes, Microseconds timeout) noexcept {
    CINNABAR_ASSERT(!host_);
    host_ = &host;
    stream_ = Stream(std::move(fd));
    watched_ = EPOLLIN;
    established_ = false;
    reader_.expect(greeting_bytes);
    // Reads the clock instead of host.now_us(): if this process was stopped (SIGSTOP), the round may have begun long
    // before the connection arrived.
    host.arm(timer_, after(steady_clock().now_us(), timeout));
    if (protect(stream_) != Errc::ok || !host.watch(stream_.fd(), watched_, *this)) drop();
}

void SocketHandshake::stop_watching() noexcept {
    host_->unwatch(stream_.fd());
    host_->disarm(timer_);
    host_ = nullptr;
}

void SocketHandshake::drop() noexcept {
    stop_watching();
    stream_.reset();
    left();
}

// Establishes the guard, then does as GreetingReader::read.
Errc SocketHandshake::read() noexcept {
    if (!established_ && stream_.guard()) {
        const Errc came = establish_over(*host_, stream_, *this, watched_);
        if (came != Errc::ok) return came;
    }
    established_ = true;
    return reader_.read(stream_);
}

void SocketHandshake::on_ready(std::uint32_t) noexcept {
    if (!host_) return;
    const Errc came = read();
    if (came == Errc::again) return;
    if (came != Errc::ok) return drop();
    stop_watching();
    Stream stream = std::move(stream_);
    left();
    greeted(stream, reader_.bytes());
}

}  // namespace cinnabar::na
