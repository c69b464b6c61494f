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

// A context for either side; both require a certificate of the other. A server gives out one ticket.
[[nodiscard]] TlsContext make_tls_context(const na::TlsOptions& files);
enum class TlsSide : bool { server, client };
// A client requires a certificate for 127.0.0.1.
[[nodiscard]] TlsConnection make_tls_connection(SSL_CTX* context, int fd, TlsSide side);

// Does the work of make_our_handshakes. Work: handshakes.
[[nodiscard]] std::unique_ptr<Subject> make_bare_handshakes(const na::TlsOptions& server, const na::TlsOptions& client,
                                                            bool resumed);

// One stream of blocks from the server, in records of 16 KiB. Both ends spin, and use `buffers` buffers of the block
// size in turn. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_tls_stream(Cores cores, const na::TlsOptions& server,
                                                       const na::TlsOptions& client, std::size_t block_bytes,
                                                       std::size_t buffers);

// Only AES-128-GCM: records of 16 KiB, encrypted in place on one core, with `buffers` blocks in turn. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_cipher(std::size_t block_bytes, std::size_t buffers);

}  // namespace cinnabar::bench
