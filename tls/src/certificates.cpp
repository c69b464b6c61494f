// SPDX-License-Identifier: BSD-3-Clause
// Loads the certificates of a transport: its own, those of the CAs that it trusts, and the revocation lists of these.
#include "guards.hpp"

#include <algorithm>

namespace cinnabar::tls {
namespace {

int no_password(char*, int, int, void*) { return -1; }

}  // namespace

std::time_t time_of(const ASN1_TIME* time) noexcept {
    std::tm parts{};
    return openssl().ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

Result<void> TlsGuards::load_certificates(const na::TlsOptions& options) {
    if (options.certificate_file.empty() && options.ca_file.empty() && options.private_key_file.empty() &&
        options.crl_file.empty())
        return {};
    if (options.certificate_file.empty() || options.ca_file.empty())
        return Error(Errc::invalid_argument,
                     "certificates need cert=FILE, the own one, and ca=FILE, which signed those of peers");
    SSL_CTX* const context = context_.get();
    if (openssl().SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1)
        return openssl_error("cannot read the certificate", options.certificate_file);
    CINNABAR_TRY_VOID(
        load_private_key(options.private_key_file.empty() ? options.certificate_file : options.private_key_file));
    if (openssl().SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1)
        return openssl_error("cannot read the certificates of the CA", options.ca_file);
    certificates_ = true;
    return load_revocations(options);
}

Result<void> TlsGuards::load_revocations(const na::TlsOptions& options) {
    if (options.crl_file.empty()) return {};
    X509_STORE* const store = openssl().SSL_CTX_get_cert_store(context_.get());
    X509_LOOKUP* const lookup = openssl().X509_STORE_add_lookup(store, openssl().X509_LOOKUP_file());
    if (!lookup || openssl().X509_load_crl_file(lookup, options.crl_file.c_str(), X509_FILETYPE_PEM) < 1 ||
        openssl().X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1)
        return openssl_error("cannot read the list of what the CA has revoked (`cinnabar cert revoke` makes one)",
                             options.crl_file);
    const auto* const all = reinterpret_cast<const OPENSSL_STACK*>(openssl().X509_STORE_get0_objects(store));
    for (int i = 0; i < openssl().OPENSSL_sk_num(all); ++i) {
        const auto* const object = static_cast<const X509_OBJECT*>(openssl().OPENSSL_sk_value(all, i));
        X509_CRL* const list = openssl().X509_OBJECT_get0_X509_CRL(object);
        const ASN1_TIME* const next = list ? openssl().X509_CRL_get0_nextUpdate(list) : nullptr;
        if (next) lists_until_ = std::min(lists_until_, time_of(next));
    }
    return {};
}

bool TlsGuards::believes(X509* certificate, STACK_OF(X509) * chain, bool of_server) const noexcept {
    const OpenSsl& ssl = openssl();
    X509_STORE* const store = ssl.SSL_CTX_get_cert_store(context_.get());
    X509_STORE_CTX* const question = ssl.X509_STORE_CTX_new();
    bool believed = question && ssl.X509_STORE_CTX_init(question, store, certificate, chain) == 1 &&
                    ssl.X509_STORE_CTX_set_default(question, of_server ? "ssl_server" : "ssl_client") == 1;
    if (believed) {
        ssl.X509_STORE_CTX_set_flags(question, X509_V_FLAG_NO_CHECK_TIME);
        believed = ssl.X509_verify_cert(question) == 1;
    }
    if (question) ssl.X509_STORE_CTX_free(question);
    ssl.ERR_clear_error();
    return believed;
}

Result<void> TlsGuards::load_private_key(const std::string& path) {
    CINNABAR_TRY(const SecretBytes pem, read_secret_file(path));
    BIO* const source = openssl().BIO_new_mem_buf(pem.bytes().data(), static_cast<int>(pem.bytes().size()));
    EVP_PKEY* const key = source ? openssl().PEM_read_bio_PrivateKey(source, nullptr, &no_password, nullptr) : nullptr;
    if (source) openssl().BIO_free(source);
    const bool used = key && openssl().SSL_CTX_use_PrivateKey(context_.get(), key) == 1;
    if (key) openssl().EVP_PKEY_free(key);
    if (!key) return openssl_error("the file has no private key in PEM format without a password", path);
    if (!used || openssl().SSL_CTX_check_private_key(context_.get()) != 1)
        return openssl_error("the private key is not that of the certificate", path);
    return {};
}

}  // namespace cinnabar::tls
