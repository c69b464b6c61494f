// SPDX-License-Identifier: BSD-3-Clause
// Resumes sessions that were authenticated by certificates: a handshake with a ticket has its own Diffie-Hellman
// exchange, but no signatures. A ticket is valid only as long as the certificates of the full handshake, and only under
// the guards that checked them (decision 0086). A session that was authenticated by a shared key gets no ticket,
// because its handshake has no signatures to save.
#include "guards.hpp"
#include "stream.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

namespace cinnabar::tls {
namespace {

// Our servers send one ticket; others may send two.
constexpr unsigned tickets_of_connection_max = 2;

// Stores the time until which a session may be resumed. A client keeps this time with the session; a server puts the
// time into the ticket, which only that server can read or make.
bool put_end(SSL_SESSION* session, std::time_t end) noexcept {
    return openssl().SSL_SESSION_set1_ticket_appdata(session, &end, sizeof end) == 1;
}

// Zero or negative: expired.
long seconds_left(SSL_SESSION* session) noexcept {
    std::time_t end = 0;
    void* kept = nullptr;
    std::size_t bytes = 0;
    if (openssl().SSL_SESSION_get0_ticket_appdata(session, &kept, &bytes) == 1 && bytes == sizeof end)
        std::memcpy(&end, kept, sizeof end);
    return end - std::time(nullptr);
}

}  // namespace

// The first expiry among the certificates of the peer's chain and the revocation lists that were checked.
std::time_t TlsStream::believed_until() const noexcept {
    const auto* const chain = reinterpret_cast<const OPENSSL_STACK*>(ssl_.SSL_get0_verified_chain(connection_));
    const int count = chain ? ssl_.OPENSSL_sk_num(chain) : 0;
    std::time_t until = count > 0 ? guards_->lists_until() : 0;
    for (int i = 0; i < count; ++i) {
        const auto* const certificate = static_cast<const X509*>(ssl_.OPENSSL_sk_value(chain, i));
        until = std::min(until, time_of(ssl_.X509_get0_notAfter(certificate)));
    }
    return until;
}

void TlsStream::offer_ticket() noexcept {
    if (!keeps_tickets_ || guards_->resume_seconds() == 0) return;
    const TicketCache::Ticket ticket = guards_->tickets().take(remote_);
    if (!ticket || ssl_.SSL_set_session(connection_, ticket.get()) != 1) return ssl_.ERR_clear_error();
    X509* const certificate = ssl_.SSL_get0_peer_certificate(connection_);
    if (!certificate || seconds_left(ticket.get()) <= 0 || !is_for_named(certificate))
        (void)ssl_.SSL_set_session(connection_, nullptr);
}

int TlsStream::keep_ticket(SSL* connection, SSL_SESSION* session) {
    TlsStream& self = of(connection);
    if (!self.keeps_tickets_) return 0;
    const OpenSsl& ssl = openssl();
    const unsigned char* ticket = nullptr;
    std::size_t bytes = 0;
    ssl.SSL_SESSION_get0_ticket(session, &ticket, &bytes);
    if (bytes == 0 || bytes > TicketCache::ticket_bytes_max || !ssl.SSL_SESSION_get0_peer(session) ||
        self.tickets_kept_ == tickets_of_connection_max)
        return 0;
    // A copy: OpenSSL invalidates the session of a connection that ends without close_notify.
    TicketCache::Ticket copy(ssl.SSL_SESSION_dup(session));
    ssl.ERR_clear_error();
    if (!copy) return 0;
    ++self.tickets_kept_;
    self.guards_->tickets().keep(self.remote_, std::move(copy));
    return 0;
}

// A ticket that is given in a resumed session expires when the tickets of the original session do.
void TlsStream::prepare_resumption() noexcept {
    if (guards_->resume_seconds() == 0) return;
    SSL_SESSION* const session = ssl_.SSL_get_session(connection_);
    const std::time_t end = std::min(believed_until(), std::time(nullptr) + guards_->resume_seconds());
    if (!resumed_ && !put_end(session, end)) return ssl_.ERR_clear_error();
    if (side_ == Side::accepts) give_ticket(session);
}

// Whether the peer's certificate is valid without the intermediate certificates that it sent. A ticket does not contain
// intermediate certificates, so if they were needed, a resumed session might be ended when files are reloaded.
bool TlsStream::valid_without_intermediates() const noexcept {
    const auto* const others = reinterpret_cast<const OPENSSL_STACK*>(ssl_.SSL_get_peer_cert_chain(connection_));
    return !others || ssl_.OPENSSL_sk_num(others) <= 0 ||
           guards_->believes(ssl_.SSL_get0_peer_certificate(connection_), nullptr, false);
}

void TlsStream::give_ticket(SSL_SESSION* session) noexcept {
    const long left = seconds_left(session);
    if (left <= 0 || !valid_without_intermediates()) return;
    (void)ssl_.SSL_SESSION_set_timeout(session, left);  // OpenSSL refuses older tickets
    // If this fails for lack of memory, the next read or write reports it.
    if (ssl_.SSL_new_session_ticket(connection_) != 1 || ssl_.SSL_do_handshake(connection_) != 1)
        ssl_.ERR_clear_error();
}

}  // namespace cinnabar::tls
