// SPDX-License-Identifier: BSD-3-Clause
// A TLS connection on a socket. OpenSSL encrypts and decrypts, and reads and writes the socket itself (socket.hpp). A
// TlsStream can also run a handshake in messages instead of on a socket (wire.hpp). Owner of the context only.
#pragma once

#include "openssl.hpp"
#include "socket.hpp"

#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream.hpp>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tls {

class TlsGuards;

class TlsStream final : public na::StreamGuard {
  public:
    using Side = TlsSocket::Side;

    // The peer's certificate must be for one of `names`; accepted connections allow any. Null: out of memory.
    [[nodiscard]] static std::unique_ptr<TlsStream> make(std::shared_ptr<const TlsGuards> guards, int fd, Side side,
                                                         std::vector<std::string> names) noexcept;
    // As above, for a handshake over `wire`, which must outlive the stream. `server`: the dialled server, under whose
    // address tickets are cached; none: tickets are not used.
    [[nodiscard]] static std::unique_ptr<TlsStream> make(std::shared_ptr<const TlsGuards> guards, Wire& wire, Side side,
                                                         std::vector<std::string> names,
                                                         const std::optional<na::SocketAddress>& server) noexcept;
    ~TlsStream() override;
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // na::StreamGuard
    [[nodiscard]] Errc establish(std::uint32_t& epoll_events) noexcept override;
    [[nodiscard]] na::Moved receive(const iovec* pieces, std::size_t count) noexcept override;
    [[nodiscard]] na::Moved send(const iovec* pieces, std::size_t count) noexcept override;
    [[nodiscard]] bool flush() noexcept override { return socket_.flush(); }
    [[nodiscard]] bool unsent() const noexcept override { return socket_.unsent(); }
    [[nodiscard]] bool unread() const noexcept override;
    [[nodiscard]] std::uint64_t partial_record() const noexcept override;
    [[nodiscard]] const char* failed_because() const noexcept override { return because_; }
    [[nodiscard]] const na::ProvenIdentity& identity() const noexcept override { return identity_; }
    [[nodiscard]] std::unique_ptr<na::MessageGuard> message_guard() noexcept override;
    void end() noexcept override;

    // The guards that authenticated the other side.
    [[nodiscard]] const TlsGuards& guards() const noexcept { return *guards_; }
    // Whether the guards `now` would still authenticate the other side: they have the same key under the other side's
    // name, or a CA that has not revoked its certificate. Does not check whether the certificate has expired since the
    // handshake. Requires: established.
    [[nodiscard]] bool known_to(const TlsGuards& now) const noexcept;

    // Requires: established. Whether the other side was authenticated in an earlier session.
    [[nodiscard]] bool resumed() const noexcept { return resumed_; }

    // OpenSSL's callbacks.
    static int use_own_key(SSL* connection, const EVP_MD* digest, const unsigned char** name, std::size_t* name_bytes,
                           SSL_SESSION** session);
    static int find_key(SSL* connection, const unsigned char* name, std::size_t name_bytes, SSL_SESSION** session);
    static int check_certificate(int believed, X509_STORE_CTX* chain);
    static int keep_ticket(SSL* connection, SSL_SESSION* session);

  private:
    TlsStream(std::shared_ptr<const TlsGuards> guards, int fd, Side side, std::vector<std::string> names) noexcept;
    TlsStream(std::shared_ptr<const TlsGuards> guards, Wire& wire, Side side, std::vector<std::string> names,
              const std::optional<na::SocketAddress>& server) noexcept;
    [[nodiscard]] static TlsStream& of(SSL* connection) noexcept {
        return *static_cast<TlsStream*>(openssl().SSL_get_ex_data(connection, 0));
    }
    [[nodiscard]] bool begin() noexcept;
    // Updates the sending key after many bytes.
    void renew_key(std::size_t sent) noexcept;

    [[nodiscard]] bool waits() const noexcept;
    [[nodiscard]] Errc proven() noexcept;
    [[nodiscard]] Errc proven_by_key() noexcept;
    [[nodiscard]] bool name_of_certificate(X509* certificate) noexcept;
    [[nodiscard]] bool is_for_named(X509* certificate) const noexcept;
    [[nodiscard]] bool certificate_known_to(const TlsGuards& now) const noexcept;
    [[nodiscard]] std::time_t believed_until() const noexcept;
    // Starts the handshake with a ticket if there is a valid one for that address.
    void offer_ticket() noexcept;
    // Keeps tickets for later handshakes, once a certificate has authenticated the other side.
    void prepare_resumption() noexcept;
    void give_ticket(SSL_SESSION* session) noexcept;
    [[nodiscard]] bool valid_without_intermediates() const noexcept;
    // Logs why OpenSSL failed.
    [[nodiscard]] Errc failed(bool handshake) noexcept;
    // Logs the failure, and keeps `what`, which has static storage, for failed_because().
    [[nodiscard]] Errc tell(Errc why, const char* what, const char* detail) noexcept;

    const std::shared_ptr<const TlsGuards> guards_;
    const OpenSsl& ssl_;
    Wire* const wire_;  // null: on a socket
    TlsSocket socket_;
    const bool keeps_tickets_;  // by remote_
    const na::SocketAddress remote_;
    const Side side_;
    bool established_ = false;
    bool resumed_ = false;
    unsigned tickets_kept_ = 0;
    bool drained_ = false;  // the last receive() found nothing left to read
    SSL* connection_ = nullptr;
    Errc broken_ = Errc::ok;  // if not ok, receive() returns it
    long disbelieved_ = 0;    // X509_V_ERR of the other side's certificate
    const char* because_ = nullptr;
    std::uint64_t sent_by_key_ = 0;
    na::ProvenIdentity identity_;
    std::vector<std::string> names_;
};

}  // namespace cinnabar::tls
