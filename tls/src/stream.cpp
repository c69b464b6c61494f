// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between the layers above, OpenSSL and the socket.
#include "stream.hpp"

#include "guards.hpp"
#include "message_guard.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace cinnabar::tls {
namespace {

constexpr std::size_t record_bytes_max = 16 * 1024;
constexpr unsigned handshake_steps_max = 16;  // per call

// Divides pieces of memory into records. A piece that fills a record, and the last piece if a record begins with it,
// are used in place; smaller pieces are copied into one record.
class Records {
  public:
    Records(const iovec* pieces, std::size_t count) noexcept : pieces_(pieces, count) {}

    // Empty at the end.
    [[nodiscard]] ConstBytes next() noexcept {
        skip_empty();
        if (pieces_.empty()) return {};
        if (left() >= record_bytes_max || pieces_.size() == 1) return take(record_bytes_max);
        std::size_t have = 0;
        while (have < record_bytes_max && !pieces_.empty()) {
            const ConstBytes part = take(record_bytes_max - have);
            std::memcpy(copies_.data() + have, part.data(), part.size());
            have += part.size();
            skip_empty();
        }
        return {copies_.data(), have};
    }
    // Whether next() has more.
    [[nodiscard]] bool more() noexcept {
        skip_empty();
        return !pieces_.empty();
    }

  private:
    [[nodiscard]] std::size_t left() const noexcept { return pieces_.front().iov_len - at_; }
    void skip_empty() noexcept {
        while (!pieces_.empty() && left() == 0) {
            pieces_ = pieces_.subspan(1);
            at_ = 0;
        }
    }
    ConstBytes take(std::size_t bytes_max) noexcept {
        const std::size_t bytes = std::min(left(), bytes_max);
        const ConstBytes part(static_cast<const std::byte*>(pieces_.front().iov_base) + at_, bytes);
        at_ += bytes;
        return part;
    }

    std::span<const iovec> pieces_;
    std::size_t at_ = 0;  // bytes of the first piece that were taken
    std::array<std::byte, record_bytes_max> copies_;
};

}  // namespace

std::unique_ptr<TlsStream> TlsStream::make(std::shared_ptr<const TlsGuards> guards, int fd, Side side,
                                           std::vector<std::string> names) noexcept {
    std::unique_ptr<TlsStream> made(new (std::nothrow) TlsStream(std::move(guards), fd, side, std::move(names)));
    return made && made->begin() ? std::move(made) : nullptr;
}

std::unique_ptr<TlsStream> TlsStream::make(std::shared_ptr<const TlsGuards> guards, Wire& wire, Side side,
                                           std::vector<std::string> names,
                                           const std::optional<na::SocketAddress>& server) noexcept {
    std::unique_ptr<TlsStream> made(new (std::nothrow)
                                        TlsStream(std::move(guards), wire, side, std::move(names), server));
    return made && made->begin() ? std::move(made) : nullptr;
}

TlsStream::TlsStream(std::shared_ptr<const TlsGuards> guards, Wire& wire, Side side, std::vector<std::string> names,
                     const std::optional<na::SocketAddress>& server) noexcept
    : guards_(std::move(guards)),
      ssl_(openssl()),
      wire_(&wire),
      socket_(wire, side),
      keeps_tickets_(server.has_value()),
      remote_(server.value_or(na::SocketAddress())),
      side_(side),
      names_(std::move(names)) {}

TlsStream::TlsStream(std::shared_ptr<const TlsGuards> guards, int fd, Side side,
                     std::vector<std::string> names) noexcept
    : guards_(std::move(guards)),
      ssl_(openssl()),
      wire_(nullptr),
      socket_(fd, side, guards_->protected_scheme().plain_greeting_bytes),
      keeps_tickets_(true),
      remote_(na::SocketAddress::peer_of(fd)),
      side_(side),
      names_(std::move(names)) {}

bool TlsStream::begin() noexcept {
    BIO* const bio = socket_.make_bio();
    connection_ = bio ? guards_->new_connection() : nullptr;
    if (!connection_ || ssl_.SSL_set_ex_data(connection_, 0, this) != 1) {
        if (bio) ssl_.BIO_free(bio);
        return false;
    }
    ssl_.SSL_set_bio(connection_, bio, bio);
    if (side_ == Side::accepts) {
        ssl_.SSL_set_accept_state(connection_);
    } else {
        ssl_.SSL_set_connect_state(connection_);
        offer_ticket();
    }
    return true;
}

TlsStream::~TlsStream() {
    if (connection_) ssl_.SSL_free(connection_);
}

// The handshake.

Errc TlsStream::establish(std::uint32_t& epoll_events) noexcept {
    socket_.expect_input();
    epoll_events = EPOLLIN;
    (void)flush();
    for (unsigned steps = 0; !established_; ++steps) {
        ssl_.ERR_clear_error();
        const int done = ssl_.SSL_do_handshake(connection_);
        if (done == 1) {
            if (const Errc why = proven(); why != Errc::ok) return why;
            established_ = true;
            socket_.set_established();
        } else if (!waits()) {
            return failed(true);
        } else if (socket_.last_read() == Errc::again || steps == handshake_steps_max) {
            break;
        }
    }
    if (unsent()) epoll_events = established_ ? std::uint32_t{EPOLLOUT} : EPOLLIN | EPOLLOUT;
    return established_ && !unsent() ? Errc::ok : Errc::again;
}

// Whether an unfinished OpenSSL operation can continue when more bytes arrive. SSL_READING alone does not prove that
// more bytes help, because OpenSSL reports it after an alert as well. If the last read was ok, OpenSSL has processed a
// TLS control message.
bool TlsStream::waits() const noexcept {
    return ssl_.ERR_peek_last_error() == 0 && ssl_.SSL_want(connection_) == SSL_READING &&
           (socket_.last_read() == Errc::again || socket_.last_read() == Errc::ok);
}

// Data.

na::Moved TlsStream::receive(const iovec* pieces, std::size_t count) noexcept {
    if (broken_ != Errc::ok) return {0, broken_};
    socket_.expect_input();
    drained_ = false;
    ssl_.ERR_clear_error();
    std::size_t total = 0;
    for (const iovec& piece : std::span(pieces, count)) {
        auto* const to = static_cast<std::byte*>(piece.iov_base);
        for (std::size_t have = 0; have < piece.iov_len;) {
            std::size_t came = 0;
            if (ssl_.SSL_read_ex(connection_, to + have, piece.iov_len - have, &came) == 1) {
                have += came;
                total += came;
                continue;
            }
            drained_ = socket_.last_read() == Errc::again;
            if (!waits()) broken_ = failed(false);
            if (total > 0) return {total, Errc::ok};
            return {0, broken_ == Errc::ok ? Errc::again : broken_};
        }
    }
    return {total, Errc::ok};
}

bool TlsStream::unread() const noexcept {
    return broken_ != Errc::ok || (!drained_ && ssl_.SSL_has_pending(connection_) == 1);
}

// A TLS control message may span several records; its parts are held as well.
std::uint64_t TlsStream::partial_record() const noexcept {
    return socket_.cuts().partial() || ssl_.SSL_in_init(connection_) == 1 ? socket_.cuts().begun() : 0;
}

na::Moved TlsStream::send(const iovec* pieces, std::size_t count) noexcept {
    if (socket_.is_cut() || broken_ != Errc::ok) return {0, Errc::peer_lost};
    if (!flush()) return {0, Errc::again};
    Records records(pieces, count);
    std::size_t total = 0;
    while (!unsent()) {
        const ConstBytes record = records.next();
        std::size_t taken = 0;
        if (record.empty()) break;
        socket_.expect_output(records.more());
        if (ssl_.SSL_write_ex(connection_, record.data(), record.size(), &taken) != 1) {
            // Out of memory, or TLS has failed while reading. A part of a record may have been sent, which is useless.
            ssl_.ERR_clear_error();
            socket_.cut();
            break;
        }
        total += taken;
        renew_key(taken);
    }
    socket_.expect_output(false);
    return total > 0 ? na::Moved{total, Errc::ok} : na::Moved{0, Errc::again};
}

// The other side learns of the update with the next record.
void TlsStream::renew_key(std::size_t sent) noexcept {
    sent_by_key_ += sent;
    if (sent_by_key_ < guards_->key_update_bytes()) return;
    sent_by_key_ = 0;
    if (ssl_.SSL_key_update(connection_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) ssl_.ERR_clear_error();
}

std::unique_ptr<na::MessageGuard> TlsStream::message_guard() noexcept {
    return TlsMessageGuard::make(connection_, side_ == Side::dials, guards_->key_update_bytes());
}

void TlsStream::end() noexcept {
    if (!established_ || socket_.is_cut() || broken_ != Errc::ok || unsent()) return;
    (void)ssl_.SSL_shutdown(connection_);
    ssl_.ERR_clear_error();
}

}  // namespace cinnabar::tls
