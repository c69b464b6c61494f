// SPDX-License-Identifier: BSD-3-Clause
// The TLS configuration that the connections of one transport share: keys, certificates, and limits of the protocol
// (TLS 1.3 only, AEAD suites only, external keys and tickets only with a Diffie-Hellman exchange, no early data).
// Immutable, except for the cache of tickets. Any thread.
#pragma once

#include "openssl.hpp"
#include "shared_keys.hpp"
#include "ticket_cache.hpp"

#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/tls/guards_of.hpp>

#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tls {

// Settings that are not in a file.
struct TlsTuning {
    // The number of bytes after which each side updates its sending key. The default is far below what one AES-GCM key
    // may encrypt: 2^24 full records.
    std::uint64_t key_update_bytes = std::uint64_t{1} << 36;
    // How long after a full handshake a session may be resumed without signatures; 0: never.
    std::uint32_t resume_seconds = 300;
    ProtectedScheme scheme = {};
};

// 0: the time is invalid.
[[nodiscard]] std::time_t time_of(const ASN1_TIME* time) noexcept;

class TlsStream;
class Wire;

class TlsGuards : public std::enable_shared_from_this<TlsGuards> {
  public:
    // Reads the files that `options` names. unsupported: OpenSSL cannot be loaded. invalid_argument: neither a key nor
    // certificates, only a part of the certificate files is given, or a file is malformed; also the errors of
    // SharedKeys::load.
    [[nodiscard]] static Result<std::shared_ptr<const TlsGuards>> make(const na::TlsOptions& options,
                                                                       const TlsTuning& tuning);

    // See na::StreamGuards. Each connection's guard shares ownership of this object.
    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept;

    // Makes the guard of a connection whose handshake runs in messages. `dialled`: the peer, if this side dials; null
    // if this side accepts. Returns null if out of memory.
    [[nodiscard]] std::unique_ptr<TlsStream> over(Wire& wire, const na::Addr* dialled) const noexcept;

    [[nodiscard]] std::uint64_t key_update_bytes() const noexcept { return tuning_.key_update_bytes; }
    [[nodiscard]] std::uint32_t resume_seconds() const noexcept { return tuning_.resume_seconds; }
    [[nodiscard]] const ProtectedScheme& protected_scheme() const noexcept { return tuning_.scheme; }
    // The tickets of servers that were authenticated under this configuration; new guards begin without tickets.
    [[nodiscard]] TicketCache& tickets() const noexcept { return tickets_; }
    [[nodiscard]] const SharedKeys& keys() const noexcept { return keys_; }
    // Whether one of the CAs has signed this peer certificate for its purpose, and no certificate of the chain is
    // revoked. `chain`: the intermediate certificates; may be null. Does not check dates. Takes about 0.1 ms.
    [[nodiscard]] bool believes(X509* certificate, STACK_OF(X509) * chain, bool of_server) const noexcept;
    // When the first revocation list expires; the maximum if there is no list, or none expires.
    [[nodiscard]] std::time_t lists_until() const noexcept { return lists_until_; }
    // A new SSL object whose application data is this object. Null: out of memory.
    [[nodiscard]] SSL* new_connection() const noexcept { return openssl().SSL_new(context_.get()); }
    // A TLS 1.3 session with that key, for OpenSSL's callbacks. Null: out of memory.
    [[nodiscard]] static SSL_SESSION* session_of(SSL* connection, const SharedKeys::Key& key) noexcept;

  private:
    struct Free {
        void operator()(SSL_CTX* context) const noexcept { openssl().SSL_CTX_free(context); }
    };

    TlsGuards() = default;
    [[nodiscard]] Result<void> set_protocol();
    void set_resumption() noexcept;
    [[nodiscard]] Result<void> load_certificates(const na::TlsOptions& options);
    [[nodiscard]] Result<void> load_revocations(const na::TlsOptions& options);
    [[nodiscard]] Result<void> load_private_key(const std::string& path);
    // The peer's certificate must name one of these.
    [[nodiscard]] std::vector<std::string> names_of(const na::Addr& peer) const;
    // Returns the address under which tickets are cached if `peer` is dialled in messages: its first endpoint on this
    // transport. None: the endpoint has a host name instead of a numeric address, or tickets are not used.
    [[nodiscard]] std::optional<na::SocketAddress> number_of(const na::Addr& peer) const;

    std::unique_ptr<SSL_CTX, Free> context_;
    SharedKeys keys_;
    bool certificates_ = false;
    std::time_t lists_until_ = std::numeric_limits<std::time_t>::max();
    TlsTuning tuning_;
    mutable TicketCache tickets_;
    std::string peer_name_;
};

}  // namespace cinnabar::tls
