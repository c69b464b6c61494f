// SPDX-License-Identifier: BSD-3-Clause
#include "security/revocations.hpp"

#include "security/authority.hpp"
#include "security/new_file.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <ctime>

namespace cinnabar::tools::security {
namespace {

constexpr std::size_t list_bytes_max = 16u << 20;
constexpr long clocks_differ = 300;  // seconds

// The lock is held until the descriptor is destroyed.
Result<UniqueFd> lock(const std::string& authority) {
    const std::string path = authority + "/ca.key";
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file && ::flock(file.get(), LOCK_EX) == 0) return file;
    const int why = errno;
    return Error(errc_from_errno(why), "that is not an authority: make one with `cinnabar cert ca`", path, why);
}

Result<RevocationList> empty_list(const Signer& signer) {
    RevocationList list(X509_CRL_new());
    if (!list || X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) != 1 ||
        X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(signer.certificate.get())) != 1)
        return openssl_failed("OpenSSL cannot make the list");
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, signer.certificate.get(), nullptr, nullptr, list.get(), 0);
    const Extension authority(X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
    if (!authority || X509_CRL_add_ext(list.get(), authority.get(), -1) != 1)
        return openssl_failed("OpenSSL cannot make the list");
    return list;
}

Result<RevocationList> read_list(const std::string& path, const Signer& signer) {
    const auto text = read_small_file(path, list_bytes_max);
    if (text.code() == Errc::not_found) return empty_list(signer);
    if (!text) return text.error();
    const Bio source(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
    RevocationList list(source ? PEM_read_bio_X509_CRL(source.get(), nullptr, nullptr, nullptr) : nullptr);
    if (!list || X509_CRL_verify(list.get(), signer.key.get()) != 1)
        return openssl_failed("that list was not signed by this authority: move it away", path);
    return list;
}

// False: out of memory.
bool add(X509_CRL& list, X509& certificate, const ASN1_TIME& now) {
    X509_REVOKED* there = nullptr;
    if (X509_CRL_get0_by_cert(&list, &there, &certificate) == 1) return true;
    Revocation made(X509_REVOKED_new());
    if (!made || X509_REVOKED_set_serialNumber(made.get(), X509_get_serialNumber(&certificate)) != 1 ||
        X509_REVOKED_set_revocationDate(made.get(), const_cast<ASN1_TIME*>(&now)) != 1 ||
        X509_CRL_add0_revoked(&list, made.get()) != 1)
        return false;
    (void)made.release();  // the list owns it now
    return true;
}

// Increments the list's CRL number.
bool count_up(X509_CRL& list) {
    const Integer before(static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(&list, NID_crl_number, nullptr, nullptr)));
    if (const int at = X509_CRL_get_ext_by_NID(&list, NID_crl_number, -1); at >= 0)
        X509_EXTENSION_free(X509_CRL_delete_ext(&list, at));
    const Integer number(ASN1_INTEGER_new());
    return number && ASN1_INTEGER_set(number.get(), before ? ASN1_INTEGER_get(before.get()) + 1 : 1) == 1 &&
           X509_CRL_add1_ext_i2d(&list, NID_crl_number, number.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool sign(X509_CRL& list, const Signer& signer, const ASN1_TIME& now) {
    return X509_CRL_set1_lastUpdate(&list, &now) == 1 &&
           X509_CRL_set1_nextUpdate(&list, X509_get0_notAfter(signer.certificate.get())) == 1 && count_up(list) &&
           X509_CRL_sort(&list) == 1 && X509_CRL_sign(&list, signer.key.get(), EVP_sha256()) > 0;
}

Result<void> add_file(X509_CRL& list, const std::string& path, const Signer& signer, const ASN1_TIME& now) {
    CINNABAR_TRY(const Certificate certificate, read_certificate(path));
    if (X509_check_issued(signer.certificate.get(), certificate.get()) != X509_V_OK ||
        X509_verify(certificate.get(), signer.key.get()) != 1)
        return openssl_failed("that certificate was signed by another authority", path);
    if (!add(list, *certificate, now)) return openssl_failed("OpenSSL cannot revoke the certificate", path);
    return {};
}

}  // namespace

Result<void> revoke(const std::string& authority, const std::vector<std::string>& certificates) {
    CINNABAR_TRY(const UniqueFd held, lock(authority));
    CINNABAR_TRY(const Signer signer, read_authority(authority));
    const std::string path = authority + "/ca.crl";
    CINNABAR_TRY(const RevocationList list, read_list(path, signer));
    const Time now(ASN1_TIME_set(nullptr, std::time(nullptr) - clocks_differ));
    if (!now) return openssl_failed("OpenSSL cannot make the list", path);
    for (const std::string& each : certificates) CINNABAR_TRY_VOID(add_file(*list, each, signer, *now));
    const Bio text(BIO_new(BIO_s_mem()));
    if (!text || !sign(*list, signer, *now) || PEM_write_bio_X509_CRL(text.get(), list.get()) != 1)
        return openssl_failed("OpenSSL cannot sign the list", path);
    return replace_file(path, content_of(*text), 0644);
}

}  // namespace cinnabar::tools::security
