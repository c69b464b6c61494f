// SPDX-License-Identifier: BSD-3-Clause
// What the TLS connections of one transport have in common: keys, certificates, and which TLS is spoken: 1.3 alone,
// suites with AEAD alone, external keys only with a Diffie-Hellman exchange, no tickets, no early data. Immutable; any
// thread.
#pragma once

#include "tls/openssl.hpp"
#include "tls/shared_keys.hpp"
#include "transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tcp {

class TlsGuards : public std::enable_shared_from_this<TlsGuards> {
  public:
    static constexpr const char* scheme = "tcps";

    // unsupported: OpenSSL is not here. invalid_argument: neither a key nor certificates, a part of those is missing,
    // or a file is none of what it should be; also the errors of SharedKeys::load.
    // Each side takes a new key for what it sends after so many bytes.
    [[nodiscard]] static Result<std::shared_ptr<const TlsGuards>> make(const na::TlsOptions& options,
                                                                       std::uint64_t key_update_bytes);

    // As those of StreamGuards. The guard that a connection gets keeps this.
    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept;

    [[nodiscard]] std::uint64_t key_update_bytes() const noexcept { return key_update_bytes_; }
    [[nodiscard]] const SharedKeys& keys() const noexcept { return keys_; }
    // Whether one of the authorities has signed this certificate of the other side, for its purpose, and none has
    // revoked it, nor one of those between; `chain` has the latter, and may be null. Dates are not asked for. Some 0.1
    // ms.
    [[nodiscard]] bool believes(X509* certificate, STACK_OF(X509) * chain, bool of_server) const noexcept;
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
    [[nodiscard]] Result<void> load_certificates(const na::TlsOptions& options);
    [[nodiscard]] Result<void> load_revocations(const na::TlsOptions& options);
    [[nodiscard]] Result<void> load_private_key(const std::string& path);
    // Whom a certificate of that peer has to name, one of these.
    [[nodiscard]] std::vector<std::string> names_of(const na::Addr& peer) const;

    std::unique_ptr<SSL_CTX, Free> context_;
    SharedKeys keys_;
    bool certificates_ = false;
    std::uint64_t key_update_bytes_ = 0;
    std::string peer_name_;
};

}  // namespace cinnabar::tcp
