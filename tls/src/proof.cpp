// SPDX-License-Identifier: BSD-3-Clause
// Authenticates the other side, and reports why that failed.
#include "failure.hpp"
#include "guards.hpp"
#include "stream.hpp"

#include <cinnabar/base/log.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace cinnabar::tls {
namespace {

constexpr std::string_view protocol_name = "cinnabar/1";

bool is_ip(const std::string& name) noexcept {
    std::array<unsigned char, sizeof(in6_addr)> bytes;
    return ::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

}  // namespace

int TlsStream::use_own_key(SSL* connection, const EVP_MD*, const unsigned char** name, std::size_t* name_bytes,
                           SSL_SESSION** session) {
    const SharedKeys& keys = of(connection).guards_->keys();
    *session = nullptr;
    if (keys.empty()) return 1;
    *session = TlsGuards::session_of(connection, keys.own());
    *name = reinterpret_cast<const unsigned char*>(keys.own().name.data());
    *name_bytes = keys.own().name.size();
    return *session ? 1 : 0;
}

// An unknown name is not a failure yet: the other side may show a certificate.
int TlsStream::find_key(SSL* connection, const unsigned char* name, std::size_t name_bytes, SSL_SESSION** session) {
    TlsStream& self = of(connection);
    *session = nullptr;
    const SharedKeys::Key* const key = self.guards_->keys().find({reinterpret_cast<const char*>(name), name_bytes});
    if (!key) return 1;
    try {
        self.identity_.name = key->name;
    } catch (const std::bad_alloc&) {
        return 0;
    }
    *session = TlsGuards::session_of(connection, *key);
    return *session ? 1 : 0;
}

int TlsStream::check_certificate(int believed, X509_STORE_CTX* chain) {
    const OpenSsl& ssl = openssl();
    auto* const connection =
        static_cast<SSL*>(ssl.X509_STORE_CTX_get_ex_data(chain, ssl.SSL_get_ex_data_X509_STORE_CTX_idx()));
    TlsStream& self = of(connection);
    const bool own = ssl.X509_STORE_CTX_get_error_depth(chain) == 0;
    if (believed == 1 && own && !self.is_for_named(ssl.X509_STORE_CTX_get_current_cert(chain))) {
        ssl.X509_STORE_CTX_set_error(chain, X509_V_ERR_HOSTNAME_MISMATCH);
        believed = 0;
    }
    if (believed != 1) self.disbelieved_ = ssl.X509_STORE_CTX_get_error(chain);
    return believed;
}

bool TlsStream::is_for_named(X509* certificate) const noexcept {
    if (side_ == Side::accepts) return true;
    constexpr unsigned how = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
    return std::ranges::any_of(names_, [&](const std::string& name) {
        return is_ip(name) ? ssl_.X509_check_ip_asc(certificate, name.c_str(), 0) == 1
                           : ssl_.X509_check_host(certificate, name.data(), name.size(), how, nullptr) == 1;
    });
}

// The common name of the certificate, which the CA vouches for.
bool TlsStream::name_of_certificate(X509* certificate) noexcept {
    constexpr std::size_t name_bytes_max = 255;
    X509_NAME* const subject = ssl_.X509_get_subject_name(certificate);
    const int at = subject ? ssl_.X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
    if (at < 0) return false;
    const ASN1_STRING* const text = ssl_.X509_NAME_ENTRY_get_data(ssl_.X509_NAME_get_entry(subject, at));
    const std::string_view name(reinterpret_cast<const char*>(ssl_.ASN1_STRING_get0_data(text)),
                                static_cast<std::size_t>(ssl_.ASN1_STRING_length(text)));
    const bool printable = std::ranges::all_of(name, [](char c) { return c >= ' ' && c < 0x7f; });
    if (name.empty() || name.size() > name_bytes_max || !printable) return false;
    try {
        identity_ = {na::ProvenIdentity::By::certificate, std::string(name)};
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

// Called after the handshake. Checks that the other side speaks Cinnabar's protocol and has proven a name.
Errc TlsStream::proven() noexcept {
    const unsigned char* protocol = nullptr;
    unsigned bytes = 0;
    ssl_.SSL_get0_alpn_selected(connection_, &protocol, &bytes);
    if (std::string_view(reinterpret_cast<const char*>(protocol), protocol ? bytes : 0) != protocol_name)
        return tell(Errc::protocol, "speaks TLS, but is no Cinnabar peer", nullptr);
    X509* const certificate = ssl_.SSL_get0_peer_certificate(connection_);
    const bool reused = ssl_.SSL_session_reused(connection_) == 1;
    if (reused && !certificate) return proven_by_key();
    if (!certificate || ssl_.SSL_get_verify_result(connection_) != X509_V_OK)
        return tell(Errc::permission, "proves nothing", nullptr);
    if (!name_of_certificate(certificate))
        return tell(Errc::permission, "has a certificate without a common name of printable characters", nullptr);
    resumed_ = reused;
    prepare_resumption();
    return Errc::ok;
}

// OpenSSL reports no certificate for a session by shared key. The accepting side has looked up the name already.
Errc TlsStream::proven_by_key() noexcept {
    if (side_ == Side::dials) {
        try {
            identity_.name = guards_->keys().own().name;
        } catch (const std::bad_alloc&) {
            return Errc::out_of_memory;
        }
    }
    identity_.by = na::ProvenIdentity::By::key;
    return identity_.name.empty() ? Errc::permission : Errc::ok;
}

bool TlsStream::known_to(const TlsGuards& now) const noexcept {
    if (&now == guards_.get()) return true;
    if (identity_.by == na::ProvenIdentity::By::certificate) return certificate_known_to(now);
    const SharedKeys::Key* const proven = guards_->keys().find(identity_.name);
    const SharedKeys::Key* const known = now.keys().find(identity_.name);
    return proven && known && std::ranges::equal(proven->bytes, known->bytes);
}

bool TlsStream::certificate_known_to(const TlsGuards& now) const noexcept {
    X509* const certificate = ssl_.SSL_get0_peer_certificate(connection_);
    return certificate && now.believes(certificate, ssl_.SSL_get_peer_cert_chain(connection_), side_ == Side::dials);
}

Errc TlsStream::failed(bool handshake) noexcept {
    const unsigned long error = ssl_.ERR_peek_last_error();
    ssl_.ERR_clear_error();
    if (socket_.last_read() == Errc::peer_lost || socket_.is_cut()) {
        if (handshake && side_ == Side::dials && !socket_.heard())
            return tell(Errc::peer_lost, "hangs up when TLS begins: perhaps it listens at tcp:// or ofi+PROVIDER://",
                        nullptr);
        return Errc::peer_lost;
    }
    if (socket_.last_read() == Errc::protocol)
        return tell(Errc::protocol, "does not speak TLS: reach it without TLS, by tcp:// or ofi+PROVIDER://", nullptr);
    // The other side has closed its direction. (After an alert, the error has the alert's number.)
    const bool closed = (ssl_.SSL_get_shutdown(connection_) & SSL_RECEIVED_SHUTDOWN) != 0;
    if (error == 0 || (closed && ERR_GET_REASON(error) < SSL_AD_REASON_OFFSET)) return Errc::peer_lost;
    if (disbelieved_ != 0)
        return tell(Errc::permission, tls_disbelief_of(disbelieved_), ssl_.X509_verify_cert_error_string(disbelieved_));
    const TlsFailure failure = tls_failure_of(ERR_GET_REASON(error));
    return tell(failure.code, failure.what, ssl_.ERR_reason_error_string(error));
}

// Not always a warning: port scanners reach every open port, and processes end while they are dialled.
Errc TlsStream::tell(Errc why, const char* what, const char* detail) noexcept {
    because_ = what;
    static constinit LogLimit warnings;
    static constinit LogLimit lines;
    const bool warns = why == Errc::permission || (why == Errc::protocol && (side_ == Side::dials || established_));
    const char* const scheme = guards_->protected_scheme().name;
    const std::string peer = wire_ ? wire_->log_name() : remote_.log_name(scheme);
    log_limited(warns ? warnings : lines, warns ? LogLevel::warning : LogLevel::info, LogModule::named(scheme),
                {peer_field(peer), transport_field(scheme), error_field(why)}, "%s %s%s%s%s", peer.c_str(), what,
                detail ? " (" : "", detail ? detail : "", detail ? ")" : "");
    return why;
}

}  // namespace cinnabar::tls
