// SPDX-License-Identifier: BSD-3-Clause
// Sessions that were proven by certificates are resumed: a handshake with a ticket has a Diffie-Hellman exchange of its
// own, and no signatures. What was proven is checked again as if it were proven now (decision 0086). Sessions by a
// shared key have no signatures to save, and get no tickets.
#include "tls/guards.hpp"
#include "tls/stream.hpp"

#include <cstring>
#include <ctime>
#include <utility>

namespace cinnabar::tcp {
namespace {

// More than one ticket from a server that gives one; others may give two.
constexpr unsigned tickets_of_connection_max = 2;

// When the other side has signed a handshake last. It is kept with the session: at the server's in the ticket, which
// only the server reads.
bool mark_signed_now(SSL_SESSION* session) noexcept {
    const std::time_t now = std::time(nullptr);
    return openssl().SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now) == 1;
}

// For how many seconds it may be resumed. Not positive: no more, or it was never signed.
long seconds_left(SSL_SESSION* session, std::uint32_t resume_seconds) noexcept {
    void* mark = nullptr;
    std::size_t bytes = 0;
    std::time_t then = 0;
    if (openssl().SSL_SESSION_get0_ticket_appdata(session, &mark, &bytes) != 1 || bytes != sizeof then) return 0;
    std::memcpy(&then, mark, sizeof then);
    const std::time_t age = std::time(nullptr) - then;
    return age < 0 ? 0 : long{resume_seconds} - static_cast<long>(age);  // below 0: the clock was set back
}

}  // namespace

// The server has been proven by a certificate, which has to be as good now as it was then.
void TlsStream::offer_ticket() noexcept {
    if (guards_->resume_seconds() == 0) return;
    const TicketCache::Ticket ticket = guards_->tickets().take(remote_);
    if (!ticket || ssl_.SSL_set_session(connection_, ticket.get()) != 1) return ssl_.ERR_clear_error();
    X509* const certificate = ssl_.SSL_get0_peer_certificate(connection_);
    const bool good = certificate && seconds_left(ticket.get(), guards_->resume_seconds()) > 0 &&
                      is_for_named(certificate) &&
                      guards_->believes(certificate, ssl_.SSL_get_peer_cert_chain(connection_), true, Dates::count);
    if (!good) (void)ssl_.SSL_set_session(connection_, nullptr);
}

int TlsStream::keep_ticket(SSL* connection, SSL_SESSION* session) {
    TlsStream& self = of(connection);
    const OpenSsl& ssl = openssl();
    const unsigned char* ticket = nullptr;
    std::size_t bytes = 0;
    ssl.SSL_SESSION_get0_ticket(session, &ticket, &bytes);
    if (bytes == 0 || bytes > TicketCache::ticket_bytes_max || !ssl.SSL_SESSION_get0_peer(session) ||
        self.tickets_kept_ == tickets_of_connection_max)
        return 0;
    // A copy, since OpenSSL spoils the session of a connection that ends without a farewell.
    TicketCache::Ticket copy(ssl.SSL_SESSION_dup(session));
    ssl.ERR_clear_error();
    if (!copy) return 0;
    ++self.tickets_kept_;
    self.guards_->tickets().keep(self.remote_, std::move(copy));
    return 0;
}

// Ignored, it leads to a full handshake, which says why this peer is not believed. One is looked at for a connection:
// each costs as much as a certificate.
SSL_TICKET_RETURN TlsStream::check_ticket(SSL* connection, SSL_SESSION* session, const unsigned char*, std::size_t,
                                          SSL_TICKET_STATUS status, void*) {
    TlsStream& self = of(connection);
    const bool ours = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
    if (!ours || std::exchange(self.ticket_checked_, true)) return SSL_TICKET_RETURN_IGNORE;
    X509* const certificate = openssl().SSL_SESSION_get0_peer(session);
    const bool good = certificate && seconds_left(session, self.guards_->resume_seconds()) > 0 &&
                      self.guards_->believes(certificate, nullptr, false, Dates::count);
    return good ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_IGNORE;
}

void TlsStream::prepare_resumption() noexcept {
    if (guards_->resume_seconds() == 0) return;
    SSL_SESSION* const session = ssl_.SSL_get_session(connection_);
    if (!resumed_ && !mark_signed_now(session)) return ssl_.ERR_clear_error();
    if (side_ == Side::accepts) give_ticket(session);
}

// A ticket has the certificate of the peer, but none of those that it has sent along, without which it may not be
// believed.
bool TlsStream::believed_alone() const noexcept {
    const auto* const others = reinterpret_cast<const OPENSSL_STACK*>(ssl_.SSL_get_peer_cert_chain(connection_));
    return !others || ssl_.OPENSSL_sk_num(others) <= 0 ||
           guards_->believes(ssl_.SSL_get0_peer_certificate(connection_), nullptr, false, Dates::count);
}

void TlsStream::give_ticket(SSL_SESSION* session) noexcept {
    const long left = seconds_left(session, guards_->resume_seconds());
    if (left <= 0 || !believed_alone()) return;
    (void)ssl_.SSL_SESSION_set_timeout(session, left);
    // Where it fails, since memory is out, the next read or write says so.
    if (ssl_.SSL_new_session_ticket(connection_) != 1 || ssl_.SSL_do_handshake(connection_) != 1)
        ssl_.ERR_clear_error();
}

}  // namespace cinnabar::tcp
