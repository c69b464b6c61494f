// SPDX-License-Identifier: BSD-3-Clause
// A TLS connection on a socket. OpenSSL encrypts and decrypts; what it reads and writes goes straight from and to the
// socket. What finds no room in the kernel is held here: at most a record of data and the answers of TLS itself, 64 KiB
// in all. Owner of the context only.
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

    // `names`: a certificate has to be for one of them; of an accepted connection, for anybody. Null: memory is out.
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

    // Whose keys and certificates it went by.
    [[nodiscard]] const TlsGuards& guards() const noexcept { return *guards_; }
    // Once established: whether `now`, the guards that are in use by now, know what the other side has proven: the same
    // key by that name, or an authority that has not revoked the certificate. Whether the certificate is out of its
    // time by now is not asked.
    [[nodiscard]] bool known_to(const TlsGuards& now) const noexcept;

    // Once established: the other side has proven who it is in an earlier session.
    [[nodiscard]] bool resumed() const noexcept { return resumed_; }

    // OpenSSL's callbacks.
    static int use_own_key(SSL* connection, const EVP_MD* digest, const unsigned char** name, std::size_t* name_bytes,
                           SSL_SESSION** session);
    static int find_key(SSL* connection, const unsigned char* name, std::size_t name_bytes, SSL_SESSION** session);
    static int check_certificate(int believed, X509_STORE_CTX* chain);
    static int keep_ticket(SSL* connection, SSL_SESSION* session);

  private:
    // The most that a peer may send before it has proven anything.
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
    // After many bytes: what is sent from now on has another key.
    void renew_key(std::size_t sent) noexcept;
    // The connection is of no more use: the next read says so.
    void cut() noexcept;

    [[nodiscard]] bool waits() const noexcept;
    [[nodiscard]] Errc proven() noexcept;
    [[nodiscard]] Errc proven_by_key() noexcept;
    [[nodiscard]] bool name_of_certificate(X509* certificate) noexcept;
    [[nodiscard]] bool is_for_named(X509* certificate) const noexcept;
    [[nodiscard]] bool certificate_known_to(const TlsGuards& now) const noexcept;
    [[nodiscard]] std::time_t believed_until() const noexcept;
    // The handshake begins with a ticket, if there is a good one for that address.
    void offer_ticket() noexcept;
    // For later handshakes, once the other side is proven by a certificate.
    void prepare_resumption() noexcept;
    void give_ticket(SSL_SESSION* session) noexcept;
    [[nodiscard]] bool believed_alone() const noexcept;
    // Why OpenSSL could not go on, told in the log.
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
    bool drained_ = false;  // the last receive() found that nothing more had come
    bool short_ = false;    // the last read of the socket took all that was there
    SSL* connection_ = nullptr;
    Errc io_ = Errc::ok;      // of the last read of the socket: ok, again, peer_lost, or protocol: it is not TLS
    Errc broken_ = Errc::ok;  // what receive() says from now on
    long disbelieved_ = 0;    // X509_V_ERR of the other side's certificate
    std::size_t came_ = 0;    // bytes of the handshake
    RecordCuts cuts_;         // of what was read
    std::uint64_t sent_by_key_ = 0;
    std::vector<char> held_;  // for the socket
    std::size_t held_begin_ = 0;
    na::ProvenIdentity identity_;
    std::vector<std::string> names_;
};

}  // namespace cinnabar::tcp
