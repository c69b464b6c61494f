// SPDX-License-Identifier: BSD-3-Clause
// What the TLS connections of one transport have in common: keys, certificates, and which TLS is spoken: 1.3 alone,
// suites with AEAD alone, external keys and tickets only with a Diffie-Hellman exchange, no early data. Immutable, but
// for the tickets of servers; any thread.
#pragma once

#include "tls/openssl.hpp"
#include "tls/shared_keys.hpp"
#include "tls/ticket_cache.hpp"
#include "transport.hpp"

#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tcp {

// What no file says.
struct TlsTuning {
    // Each side takes a new key for what it sends after so many bytes. The default is far below what one key of AES-GCM
    // is good for, 2^24 full records.
    std::uint64_t key_update_bytes = std::uint64_t{1} << 36;
    // For how long after a signed handshake a session may be resumed without signatures; 0: never.
    std::uint32_t resume_seconds = 300;
};

// 0: it is none.
[[nodiscard]] std::time_t time_of(const ASN1_TIME* time) noexcept;

class TlsGuards : public std::enable_shared_from_this<TlsGuards> {
  public:
    static constexpr const char* scheme = "tcps";

    // unsupported: OpenSSL is not here. invalid_argument: neither a key nor certificates, a part of those is missing,
    // or a file is none of what it should be; also the errors of SharedKeys::load.
    [[nodiscard]] static Result<std::shared_ptr<const TlsGuards>> make(const na::TlsOptions& options,
                                                                       const TlsTuning& tuning);

    // As those of StreamGuards. The guard that a connection gets keeps this.
    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept;

    [[nodiscard]] std::uint64_t key_update_bytes() const noexcept { return tuning_.key_update_bytes; }
    [[nodiscard]] std::uint32_t resume_seconds() const noexcept { return tuning_.resume_seconds; }
    // Of servers that were proven by what this trusts: other guards do not get them.
    [[nodiscard]] TicketCache& tickets() const noexcept { return tickets_; }
    [[nodiscard]] const SharedKeys& keys() const noexcept { return keys_; }
    // Whether one of the authorities has signed this certificate of the other side, for its purpose, and none has
    // revoked it, nor one of those between; `chain` has the latter, and may be null. Dates are not asked for. Some 0.1
    // ms.
    [[nodiscard]] bool believes(X509* certificate, STACK_OF(X509) * chain, bool of_server) const noexcept;
    // When the first of the lists of revoked certificates runs out; where there is none, or none does, the end of time.
    [[nodiscard]] std::time_t lists_until() const noexcept { return lists_until_; }
    // Null: memory is out. With this as its application data.
    [[nodiscard]] SSL* new_connection() const noexcept { return openssl().SSL_new(context_.get()); }
    // A session of TLS 1.3 with that key, for OpenSSL's callbacks. Null: memory is out.
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
    // Whom a certificate of that peer has to name, one of these.
    [[nodiscard]] std::vector<std::string> names_of(const na::Addr& peer) const;

    std::unique_ptr<SSL_CTX, Free> context_;
    SharedKeys keys_;
    bool certificates_ = false;
    std::time_t lists_until_ = std::numeric_limits<std::time_t>::max();
    TlsTuning tuning_;
    mutable TicketCache tickets_;
    std::string peer_name_;
};

}  // namespace cinnabar::tcp
