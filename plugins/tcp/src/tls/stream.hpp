// SPDX-License-Identifier: BSD-3-Clause
// A TLS connection on a socket. OpenSSL encrypts and decrypts, and reads and writes the socket directly. Output that
// the kernel does not take is held here: at most one record of data and TLS control messages, 64 KiB together. Owner of
// the context only.
#pragma once

#include "tls/openssl.hpp"
#include "tls/record_cuts.hpp"

#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream.hpp>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tcp {

class TlsGuards;

class TlsStream final : public na::StreamGuard {
  public:
    enum class Side : std::uint8_t { accepts, dials };

    // The peer's certificate must be for one of `names`; accepted connections allow any. Null: out of memory.
    [[nodiscard]] static std::unique_ptr<TlsStream> make(std::shared_ptr<const TlsGuards> guards, int fd, Side side,
                                                         std::vector<std::string> names) noexcept;
    ~TlsStream() override;
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // na::StreamGuard
    [[nodiscard]] Errc establish(std::uint32_t& epoll_events) noexcept override;
    [[nodiscard]] na::Moved receive(const iovec* pieces, std::size_t count) noexcept override;
    [[nodiscard]] na::Moved send(const iovec* pieces, std::size_t count) noexcept override;
    [[nodiscard]] bool flush() noexcept override;
    [[nodiscard]] bool unsent() const noexcept override { return held_begin_ < held_.size(); }
    [[nodiscard]] bool unread() const noexcept override;
    [[nodiscard]] std::uint64_t partial_record() const noexcept override;
    [[nodiscard]] const na::ProvenIdentity& identity() const noexcept override { return identity_; }
    void end() noexcept override;

    // The guards that authenticated the other side.
    [[nodiscard]] const TlsGuards& guards() const noexcept { return *guards_; }
    // Requires: established. Whether the guards `now` would still authenticate the other side: they have the same key
    // by that name, or a CA that has not revoked the certificate. Does not check whether the certificate has expired
    // since.
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
    // The most that a peer may send before it is authenticated.
    static constexpr std::size_t handshake_bytes_max = 64 * 1024;
    static constexpr std::size_t held_bytes_max = 64 * 1024;

    TlsStream(std::shared_ptr<const TlsGuards> guards, int fd, Side side, std::vector<std::string> names) noexcept;
    [[nodiscard]] static TlsStream& of(SSL* connection) noexcept {
        return *static_cast<TlsStream*>(openssl().SSL_get_ex_data(connection, 0));
    }
    [[nodiscard]] bool begin() noexcept;
    [[nodiscard]] static const BIO_METHOD* socket_method() noexcept;
    static int read_socket(BIO* bio, char* to, int bytes);
    static int write_socket(BIO* bio, const char* from, int bytes);
    [[nodiscard]] bool is_tls(const char* begin, std::size_t bytes) noexcept;
    [[nodiscard]] bool hold(const char* from, std::size_t bytes) noexcept;
    // Updates the sending key after many bytes.
    void renew_key(std::size_t sent) noexcept;
    // Breaks the connection: the next read returns the error.
    void cut() noexcept;

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
    [[nodiscard]] bool believed_alone() const noexcept;
    // Logs why OpenSSL failed.
    [[nodiscard]] Errc failed(bool handshake) noexcept;
    [[nodiscard]] Errc tell(Errc why, const char* what, const char* detail) const noexcept;

    const std::shared_ptr<const TlsGuards> guards_;
    const OpenSsl& ssl_;
    const int fd_;
    const na::SocketAddress remote_;
    const Side side_;
    bool established_ = false;
    bool cut_ = false;
    bool resumed_ = false;
    unsigned tickets_kept_ = 0;
    bool drained_ = false;  // the last receive() found nothing left to read
    bool short_ = false;    // the last read took everything from the socket
    SSL* connection_ = nullptr;
    Errc io_ = Errc::ok;      // of the last socket read: ok, again, peer_lost, or protocol (not TLS)
    Errc broken_ = Errc::ok;  // if not ok, receive() returns it
    long disbelieved_ = 0;    // X509_V_ERR of the other side's certificate
    std::size_t came_ = 0;    // handshake bytes received
    RecordCuts cuts_;         // of the bytes read
    std::uint64_t sent_by_key_ = 0;
    std::vector<char> held_;  // output that the kernel has not taken
    std::size_t held_begin_ = 0;
    na::ProvenIdentity identity_;
    std::vector<std::string> names_;
};

}  // namespace cinnabar::tcp
