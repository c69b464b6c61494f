// SPDX-License-Identifier: BSD-3-Clause
#include "socket.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/greeting.hpp>

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <new>
#include <span>

namespace cinnabar::tls {
namespace {

constexpr unsigned char record_of_handshake = 22;
constexpr unsigned char record_of_alert = 21;

// A rejection that a peer without TLS understands, whatever its transport is: after the Hello, a greeting that rejects
// has only zeros.
using Rejection = std::array<std::byte, na::greeting_bytes_max>;
Rejection plain_rejection() noexcept {
    na::Hello hello;
    hello.kind = na::HelloKind::reject;
    hello.reason = static_cast<std::uint8_t>(Errc::permission);
    Rejection rejection{};
    hello.encode(std::span(rejection).first<na::hello_bytes>());
    return rejection;
}

bool is_plain_hello(const char* begin, std::size_t bytes) noexcept {
    static const Rejection own = plain_rejection();  // starts with the magic of all Hellos
    constexpr std::size_t mark_bytes = 4;
    return bytes >= mark_bytes && std::memcmp(begin, own.data(), mark_bytes) == 0;
}

// Only BIO_CTRL_FLUSH is supported.
long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

}  // namespace

const BIO_METHOD* TlsSocket::method() noexcept {
    static const BIO_METHOD* const method = [] {
        BIO_METHOD* const made = openssl().BIO_meth_new(BIO_TYPE_SOURCE_SINK, "cinnabar socket");
        if (!made) return made;
        openssl().BIO_meth_set_read(made, &read);
        openssl().BIO_meth_set_write(made, &write);
        openssl().BIO_meth_set_ctrl(made, &control);
        return made;
    }();
    return method;
}

BIO* TlsSocket::make_bio() noexcept {
    const BIO_METHOD* const how = method();
    BIO* const bio = how ? openssl().BIO_new(how) : nullptr;
    if (!bio) return nullptr;
    openssl().BIO_set_data(bio, this);
    openssl().BIO_set_init(bio, 1);
    return bio;
}

na::Moved TlsSocket::receive(void* to, std::size_t bytes) noexcept {
    return wire_ ? wire_->receive(to, bytes) : na::receive_some(fd_, to, bytes);
}

na::Moved TlsSocket::send(const void* from, std::size_t bytes, bool ahead) noexcept {
    if (wire_) return wire_->send(from, bytes);
    return ahead ? na::send_ahead(fd_, from, bytes) : na::send_some(fd_, from, bytes);
}

// Looks at the first bytes received. A peer that greets without TLS gets a rejection in plain text.
bool TlsSocket::is_tls(const char* begin, std::size_t bytes) noexcept {
    const auto first = static_cast<unsigned char>(*begin);
    if (first == record_of_handshake || (side_ == Side::dials && first == record_of_alert)) return true;
    if (!wire_ && side_ == Side::accepts && is_plain_hello(begin, bytes)) {
        const Rejection rejection = plain_rejection();
        (void)na::send_some(fd_, rejection.data(), plain_greeting_bytes_);
    }
    return false;
}

int TlsSocket::read(BIO* bio, char* to, int bytes) {
    const OpenSsl& ssl = openssl();
    auto& self = *static_cast<TlsSocket*>(ssl.BIO_get_data(bio));
    ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (bytes <= 0) return 0;
    const auto room = static_cast<std::size_t>(bytes);
    const na::Moved moved = self.short_ ? na::Moved{0, Errc::again} : self.receive(to, room);
    self.last_read_ = moved.why;
    self.short_ = moved.bytes < room;
    self.cuts_.came(to, moved.bytes);
    if (moved.why == Errc::ok && !self.established_) {
        const bool begins = self.handshake_bytes_ == 0;
        self.handshake_bytes_ += moved.bytes;
        if (self.handshake_bytes_ > handshake_bytes_max || (begins && !self.is_tls(to, moved.bytes)))
            self.last_read_ = Errc::protocol;
    }
    if (self.last_read_ == Errc::ok) return static_cast<int>(moved.bytes);
    if (self.last_read_ == Errc::again) ssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return -1;
}

// Accepts all bytes. If this function left some, OpenSSL would require that the same write is repeated, but by then the
// layers above may have something else to send.
int TlsSocket::write(BIO* bio, const char* from, int bytes) {
    const OpenSsl& ssl = openssl();
    auto& self = *static_cast<TlsSocket*>(ssl.BIO_get_data(bio));
    ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (bytes <= 0 || self.cut_ || self.last_read_ == Errc::protocol) return bytes;
    auto left = static_cast<std::size_t>(bytes);
    if (!self.unsent()) {
        const na::Moved moved = self.send(from, left, self.more_);
        if (moved.why == Errc::peer_lost) {
            self.cut();
            return bytes;
        }
        from += moved.bytes;
        left -= moved.bytes;
    }
    if (left > 0 && !self.hold(from, left)) self.cut();
    return bytes;
}

bool TlsSocket::hold(const char* from, std::size_t bytes) noexcept {
    if (held_.size() - held_begin_ + bytes > held_bytes_max) return false;
    try {
        held_.insert(held_.end(), from, from + bytes);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void TlsSocket::cut() noexcept {
    cut_ = true;
    held_ = {};
    held_begin_ = 0;
    if (wire_) return wire_->cut();
    (void)::shutdown(fd_, SHUT_RDWR);
}

bool TlsSocket::flush() noexcept {
    while (unsent()) {
        const na::Moved moved = send(held_.data() + held_begin_, held_.size() - held_begin_, false);
        if (moved.why == Errc::peer_lost) {
            cut();
            return true;
        }
        held_begin_ += moved.bytes;
        if (moved.why != Errc::ok) return false;
    }
    if (held_begin_ > 0) {
        held_ = {};
        held_begin_ = 0;
    }
    return true;
}

}  // namespace cinnabar::tls
