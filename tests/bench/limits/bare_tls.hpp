// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL by itself, with the versions, suites, groups and certificates of tcps. Throws std::runtime_error.
#pragma once

#include "../harness/subject.hpp"

#include <cinnabar/na/types.hpp>

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

struct FreeTls {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
    void operator()(SSL* connection) const noexcept { SSL_free(connection); }
    void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsConnection = std::unique_ptr<SSL, FreeTls>;

// For both sides: each wants a certificate of the other. A server gives one ticket.
[[nodiscard]] TlsContext make_tls_context(const na::TlsOptions& files);
enum class TlsSide : bool { server, client };
// A client wants a certificate for 127.0.0.1.
[[nodiscard]] TlsConnection make_tls_connection(SSL_CTX* context, int fd, TlsSide side);

// The work of make_our_handshakes. Work: handshakes.
[[nodiscard]] std::unique_ptr<Subject> make_bare_handshakes(const na::TlsOptions& server, const na::TlsOptions& client,
                                                            bool resumed);

// One stream of blocks from the server, in records of 16 KiB, both ends spinning, round through `buffers` buffers of
// that size. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_tls_stream(Cores cores, const na::TlsOptions& server,
                                                       const na::TlsOptions& client, std::size_t block_bytes,
                                                       std::size_t buffers);

// AES-128-GCM alone, records of 16 KiB on one core, encrypted in place, round through `buffers` blocks. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_cipher(std::size_t block_bytes, std::size_t buffers);

}  // namespace cinnabar::bench
