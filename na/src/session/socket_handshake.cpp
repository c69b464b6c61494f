// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/socket_handshake.hpp>

#include <sys/epoll.h>

#include <utility>

namespace cinnabar::na {

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
        const Errc came = establish_guard(*host_, stream_, *this, watched_);
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
