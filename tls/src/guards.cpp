// SPDX-License-Identifier: BSD-3-Clause
#include "guards.hpp"

#include "stream.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>

#include <array>
#include <new>
#include <string_view>
#include <utility>

namespace cinnabar::tls {
namespace {

constexpr unsigned char alpn[] =
    "\x0a"
    "cinnabar/1";
constexpr unsigned alpn_bytes = sizeof alpn - 1;
// Both use SHA-256, which shared keys require.
constexpr const char* suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
// No finite-field groups: with them a stranger could make this side compute for a long time at little cost to itself.
constexpr const char* groups = "X25519:P-256";
constexpr long certificates_bytes_max = 32 * 1024;  // the chain that a peer sends

// The server selects Cinnabar's protocol, or refuses the connection.
int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_bytes, const unsigned char* in, unsigned in_bytes,
                void*) {
    for (unsigned at = 0; at < in_bytes && at + 1u + in[at] <= in_bytes; at += 1u + in[at]) {
        if (std::string_view(reinterpret_cast<const char*>(in + at), 1u + in[at]) !=
            std::string_view(reinterpret_cast<const char*>(alpn), alpn_bytes))
            continue;
        *out = in + at + 1;
        *out_bytes = in[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<std::shared_ptr<const TlsGuards>> TlsGuards::make(const na::TlsOptions& options, const TlsTuning& tuning) {
    CINNABAR_ASSERT(tuning.scheme.plain_greeting_bytes <= na::greeting_bytes_max);
    CINNABAR_TRY_VOID(OpenSsl::load());
    std::shared_ptr<TlsGuards> guards(new TlsGuards);
    guards->tuning_ = tuning;
    guards->context_.reset(openssl().SSL_CTX_new(openssl().TLS_method()));
    if (!guards->context_) return openssl_error("OpenSSL cannot begin", {});
    CINNABAR_TRY_VOID(guards->set_protocol());
    guards->set_resumption();
    if (!options.key_file.empty()) {
        CINNABAR_TRY(guards->keys_, SharedKeys::load(options.key_file));
    }
    CINNABAR_TRY_VOID(guards->load_certificates(options));
    if (guards->keys_.empty() && !guards->certificates_)
        return Error(
            Errc::invalid_argument,
            "TLS needs a key (key=FILE, made by `cinnabar key new FILE`), or certificates (cert=FILE, ca=FILE)");
    guards->peer_name_ = options.peer_name;
    return std::shared_ptr<const TlsGuards>(std::move(guards));
}

Result<void> TlsGuards::set_protocol() {
    const OpenSsl& ssl = openssl();
    SSL_CTX* const context = context_.get();
    ssl.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    // No auto-retry: data after a TLS control message is read in the next round. Idle connections free their buffers.
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, nullptr);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, certificates_bytes_max, nullptr);
    const bool set = ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr) == 1 &&
                     ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, nullptr) == 1 &&
                     ssl.SSL_CTX_set_ciphersuites(context, suites) == 1 &&
                     ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, const_cast<char*>(groups)) == 1 &&
                     ssl.SSL_CTX_set_num_tickets(context, 0) == 1 &&
                     ssl.SSL_CTX_set_session_id_context(context, alpn, alpn_bytes) == 1 &&
                     ssl.SSL_CTX_set_alpn_protos(context, alpn, alpn_bytes) == 0;
    if (!set) return openssl_error("this OpenSSL lacks parts of TLS 1.3 that Cinnabar needs", {});
    ssl.SSL_CTX_set_alpn_select_cb(context, &choose_alpn, nullptr);
    ssl.SSL_CTX_set_psk_use_session_callback(context, &TlsStream::use_own_key);
    ssl.SSL_CTX_set_psk_find_session_callback(context, &TlsStream::find_key);
    // Set even if there are only keys: then no certificate is accepted.
    ssl.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &TlsStream::check_certificate);
    return {};
}

// The server keeps no state: all that it needs to resume a session is in the ticket, encrypted with a random key of
// this context, so new guards cannot read old tickets. Tickets are sent explicitly, after the other side has been
// authenticated.
void TlsGuards::set_resumption() noexcept {
    const OpenSsl& ssl = openssl();
    SSL_CTX* const context = context_.get();
    if (resume_seconds() == 0) {
        ssl.SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
        return;
    }
    constexpr long mode = SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL;
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, mode, nullptr);
    ssl.SSL_CTX_sess_set_new_cb(context, &TlsStream::keep_ticket);
}

SSL_SESSION* TlsGuards::session_of(SSL* connection, const SharedKeys::Key& key) noexcept {
    const OpenSsl& ssl = openssl();
    constexpr std::array<unsigned char, 2> aes_128_gcm_sha256{0x13, 0x01};
    SSL_SESSION* const session = ssl.SSL_SESSION_new();
    const SSL_CIPHER* const suite = ssl.SSL_CIPHER_find(connection, aes_128_gcm_sha256.data());
    const bool made = session && suite && ssl.SSL_SESSION_set_cipher(session, suite) == 1 &&
                      ssl.SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1 &&
                      ssl.SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.bytes.data()),
                                                      key.bytes.size()) == 1 &&
                      ssl.SSL_SESSION_set1_id_context(session, alpn, alpn_bytes) == 1;
    if (made) return session;
    if (session) ssl.SSL_SESSION_free(session);
    return nullptr;
}

std::vector<std::string> TlsGuards::names_of(const na::Addr& peer) const {
    std::vector<std::string> names;
    if (!certificates_) return names;
    if (!peer_name_.empty()) return {peer_name_};
    for (const std::string& endpoint : peer.body().endpoints) {
        const auto uri = na::Uri::parse(endpoint);
        if (uri && na::family_of(uri->scheme) == tuning_.scheme.name)
            names.push_back(uri->host.empty() ? "localhost" : uri->host);
    }
    return names;
}

std::optional<na::SocketAddress> TlsGuards::number_of(const na::Addr& peer) const {
    if (!certificates_ || resume_seconds() == 0) return std::nullopt;
    for (const std::string& endpoint : peer.body().endpoints) {
        const auto uri = na::Uri::parse(endpoint);
        if (!uri || na::family_of(uri->scheme) != tuning_.scheme.name) continue;
        std::array<unsigned char, sizeof(in6_addr)> number;
        const bool is_number = ::inet_pton(AF_INET, uri->host.c_str(), number.data()) == 1 ||
                               ::inet_pton(AF_INET6, uri->host.c_str(), number.data()) == 1;
        if (!is_number) return std::nullopt;
        const auto found = na::resolve_at_once(*uri, na::Purpose::dial);
        if (!found || !found->ok() || found->value().empty()) return std::nullopt;
        return found->value().front();
    }
    return std::nullopt;
}

Errc TlsGuards::protect_accepted(na::Stream& stream) const noexcept {
    std::unique_ptr<TlsStream> guard = TlsStream::make(shared_from_this(), stream.fd(), TlsStream::Side::accepts, {});
    if (!guard) return Errc::out_of_memory;
    stream.protect(std::move(guard));
    return Errc::ok;
}

Errc TlsGuards::protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept {
    try {
        std::unique_ptr<TlsStream> guard =
            TlsStream::make(shared_from_this(), stream.fd(), TlsStream::Side::dials, names_of(peer));
        if (!guard) return Errc::out_of_memory;
        stream.protect(std::move(guard));
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    return Errc::ok;
}

std::unique_ptr<TlsStream> TlsGuards::over(Wire& wire, const na::Addr* dialled) const noexcept {
    try {
        if (!dialled) return TlsStream::make(shared_from_this(), wire, TlsStream::Side::accepts, {}, std::nullopt);
        return TlsStream::make(shared_from_this(), wire, TlsStream::Side::dials, names_of(*dialled),
                               number_of(*dialled));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace cinnabar::tls
