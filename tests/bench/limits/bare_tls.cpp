// SPDX-License-Identifier: BSD-3-Clause
#include "bare_tls.hpp"

#include <openssl/x509v3.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr unsigned char session_context[] = "bench";

void want(bool good, const char* what) {
    if (!good) throw std::runtime_error{std::string{"OpenSSL: "} + what};
}

}  // namespace

TlsContext make_tls_context(const na::TlsOptions& files) {
    TlsContext context{SSL_CTX_new(TLS_method())};
    want(context != nullptr && SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1, "TLS 1.3");
    want(SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") == 1 &&
             SSL_CTX_set1_groups_list(context.get(), "X25519:P-256") == 1,
         "suites");
    want(SSL_CTX_use_certificate_chain_file(context.get(), files.certificate_file.c_str()) == 1 &&
             SSL_CTX_use_PrivateKey_file(context.get(), files.private_key_file.c_str(), SSL_FILETYPE_PEM) == 1 &&
             SSL_CTX_load_verify_file(context.get(), files.ca_file.c_str()) == 1,
         "certificates");
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_num_tickets(context.get(), 1);
    SSL_CTX_set_session_id_context(context.get(), session_context, sizeof session_context);
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context.get(), 1);
    return context;
}

TlsConnection make_tls_connection(SSL_CTX* context, int fd, TlsSide side) {
    TlsConnection connection{SSL_new(context)};
    want(connection != nullptr && SSL_set_fd(connection.get(), fd) == 1, "a connection");
    if (side == TlsSide::server) {
        SSL_set_accept_state(connection.get());
    } else {
        SSL_set_connect_state(connection.get());
        want(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection.get()), "127.0.0.1") == 1, "a name");
    }
    return connection;
}

}  // namespace cinnabar::bench
