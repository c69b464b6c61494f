// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/greeting.hpp>

#include <sys/epoll.h>

namespace cinnabar::na {

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

Errc establish_guard(PortHost& host, Stream& stream, FdEvents& ready, std::uint32_t& watched) noexcept {
    std::uint32_t wanted = EPOLLIN;
    const Errc came = stream.guard()->establish(wanted);
    if ((came != Errc::ok && came != Errc::again) || wanted == watched) return came;
    if (!host.watch_again(stream.fd(), wanted, ready)) return Errc::overloaded;
    watched = wanted;
    return came;
}

}  // namespace cinnabar::na
