// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/epoll.h>

#include <utility>

namespace cinnabar::na {

void GreetingReader::expect(std::size_t bytes) noexcept {
    CINNABAR_ASSERT(bytes > 0 && bytes <= bytes_.size());
    have_ = 0;
    need_ = bytes;
}

Errc GreetingReader::read(int fd) noexcept {
    const Moved moved = receive_some(fd, bytes_.data() + have_, need_ - have_);
    if (moved.why != Errc::ok) return moved.why;
    have_ += moved.bytes;
    return have_ < need_ ? Errc::again : Errc::ok;
}

bool send_greeting(int fd, ConstBytes greeting) noexcept {
    return send_some(fd, greeting.data(), greeting.size()).bytes == greeting.size();
}

SocketDial::SocketDial() noexcept {
    timer_.owner = this;
    timer_.fire = &SocketDial::time_out;
}

void SocketDial::begin(PortHost& host, OwnDials& own, std::span<const SocketAddress> targets,
                       std::span<const Uri> names, const SocketAddress* source, std::size_t answer_bytes,
                       Microseconds timeout) noexcept {
    CINNABAR_ASSERT(!host_);
    host_ = &host;
    own_ = &own;
    targets_.begin(targets, names);
    source_ = source;
    answer_bytes_ = answer_bytes;
    connected_ = false;
    // The round's time may be as old as the context's last look at its network.
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
    if (!fd_) return;
    answer_is_there();
    fd_.reset();
}

// Also when it never comes.
void SocketDial::answer_is_there() noexcept {
    host_->unwatch(fd_.get());
    if (connected_) own_->remove(local_, remote_);
    connected_ = false;
}

// Goes on with the next address; with none left, `why` is the outcome.
void SocketDial::try_next(Errc why) noexcept {
    unwatch();
    for (;;) {
        SocketAddress target;
        const Errc next = targets_.next(*host_, why, target);
        if (next == Errc::again) return;
        if (next != Errc::ok) return failed(next);
        why = start_connect(target, source_, fd_);
        if (why == Errc::ok && host_->watch(fd_.get(), EPOLLOUT, *this)) return;
        if (why == Errc::ok) why = Errc::overloaded;
        fd_.reset();
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
        const Errc outcome = connect_outcome(fd_.get());
        if (outcome == Errc::again) return;
        if (outcome == Errc::ok) {
            connected();
        } else {
            try_next(outcome);
        }
        return settle();
    }
    const Errc came = reader_.read(fd_.get());
    if (came == Errc::again) return;
    if (came != Errc::ok) {
        // Closed at once: another address of the peer may be better.
        try_next(came);
        return settle();
    }
    answer_is_there();
    UniqueFd fd = std::move(fd_);
    if (const Errc why = answered(fd, reader_.bytes()); why != Errc::ok) try_next(why);
    settle();
}

void SocketDial::connected() noexcept {
    local_ = SocketAddress::local_of(fd_.get());
    remote_ = SocketAddress::peer_of(fd_.get());
    // A dial to a port of the ephemeral range that nobody listens on can meet itself.
    if (local_ == remote_) return try_next(Errc::refused);
    if (!own_->add(local_, remote_)) return try_next(Errc::out_of_memory);
    connected_ = true;
    std::array<std::byte, greeting_bytes_max> greeting;
    const std::size_t bytes = greet(greeting);
    reader_.expect(answer_bytes_);
    if (!send_greeting(fd_.get(), {greeting.data(), bytes}) || !host_->watch_again(fd_.get(), EPOLLIN, *this)) {
        try_next(Errc::peer_lost);
    }
}

void SocketDial::time_out(Timer& timer) noexcept {
    SocketDial& self = TimerOf<SocketDial>::owner_of(timer);
    self.failed(self.connected_ ? Errc::timed_out : Errc::unreachable);
    self.settle();
}

SocketHandshake::SocketHandshake() noexcept {
    timer_.owner = this;
    timer_.fire = &SocketHandshake::time_out;
}

void SocketHandshake::begin(PortHost& host, UniqueFd fd, std::size_t greeting_bytes, Microseconds timeout) noexcept {
    CINNABAR_ASSERT(!host_);
    host_ = &host;
    fd_ = std::move(fd);
    reader_.expect(greeting_bytes);
    // The round may have begun before this process was stopped, and the connection have come in since.
    host.arm(timer_, after(steady_clock().now_us(), timeout));
    if (!host.watch(fd_.get(), EPOLLIN, *this)) drop();
}

void SocketHandshake::stop_watching() noexcept {
    host_->unwatch(fd_.get());
    host_->disarm(timer_);
    host_ = nullptr;
}

void SocketHandshake::drop() noexcept {
    stop_watching();
    fd_.reset();
    left();
}

void SocketHandshake::time_out(Timer& timer) noexcept { TimerOf<SocketHandshake>::owner_of(timer).drop(); }

void SocketHandshake::on_ready(std::uint32_t) noexcept {
    if (!host_) return;
    const Errc came = reader_.read(fd_.get());
    if (came == Errc::again) return;
    if (came != Errc::ok) return drop();
    stop_watching();
    UniqueFd fd = std::move(fd_);
    left();
    greeted(fd, reader_.bytes());
}

}  // namespace cinnabar::na
