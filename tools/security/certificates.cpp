// SPDX-License-Identifier: BSD-3-Clause
#include "security/certificates.hpp"

#include "security/authority.hpp"
#include "security/names.hpp"
#include "security/new_file.hpp"
#include "security/revocations.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cinnabar::tools::security {
namespace {

bool set_serial(X509& certificate) {
    const Number serial(BN_new());
    return serial && BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_times(X509& certificate, const Validity& validity) {
    const auto set = [](ASN1_TIME* into, SystemTime when) {
        return ASN1_TIME_set(into, std::chrono::system_clock::to_time_t(when)) != nullptr;
    };
    return set(X509_getm_notBefore(&certificate), validity.from) &&
           set(X509_getm_notAfter(&certificate), validity.until);
}

bool set_name(X509& certificate, const std::string& name) {
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_ASC,
                                      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1;
}

// Adds an extension. `value` has the syntax of OpenSSL's configuration; the caller has validated its parts.
bool extend(X509& certificate, X509& issuer, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str()));
    return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

std::string alternative_names(const Subject& subject) {
    std::string text = "DNS:" + subject.name;
    for (const std::string& host : subject.hosts) text += (is_ip(host) ? ",IP:" : ",DNS:") + host;
    return text;
}

bool extend_authority(X509& certificate) {
    return extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           extend(certificate, certificate, NID_subject_key_identifier, "hash");
}

bool extend_subject(X509& certificate, X509& issuer, const Subject& subject) {
    return extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           extend(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
           extend(certificate, issuer, NID_ext_key_usage, subject.serves ? "serverAuth,clientAuth" : "clientAuth") &&
           extend(certificate, issuer, NID_subject_alt_name, alternative_names(subject)) &&
           extend(certificate, issuer, NID_subject_key_identifier, "hash") &&
           extend(certificate, issuer, NID_authority_key_identifier, "keyid:always");
}

// Makes a certificate for a new key, without extensions and unsigned.
Result<Signer> begin(const std::string& name, const Validity& validity) {
    Signer made{Certificate(X509_new()), PrivateKey(EVP_EC_gen("P-256"))};
    const bool set = made.certificate && made.key && X509_set_version(made.certificate.get(), X509_VERSION_3) == 1 &&
                     set_serial(*made.certificate) && set_times(*made.certificate, validity) &&
                     set_name(*made.certificate, name) && X509_set_pubkey(made.certificate.get(), made.key.get()) == 1;
    if (!set) return openssl_failed("OpenSSL cannot make the certificate", name);
    return made;
}

Result<void> write_files(const Signer& made, const std::string& path) {
    const Bio certificate(BIO_new(BIO_s_mem()));
    const Bio key(BIO_new(BIO_s_secmem()));
    if (!certificate || !key || PEM_write_bio_X509(certificate.get(), made.certificate.get()) != 1 ||
        PEM_write_bio_PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return openssl_failed("OpenSSL cannot write the certificate", path);
    std::string secret = content_of(*key);
    auto written = write_new_file(path + ".key", secret, 0600);
    OPENSSL_cleanse(secret.data(), secret.size());
    if (!written) return written;
    written = write_new_file(path + ".pem", content_of(*certificate), 0644);
    if (!written) (void)::unlink((path + ".key").c_str());
    return written;
}

Result<void> make_folder(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
    const int why = errno;
    return Error(errc_from_errno(why), "cannot make the folder", folder, why);
}

}  // namespace

Validity valid_for(std::chrono::days days) {
    const SystemTime now = std::chrono::system_clock::now();
    return {now - std::chrono::minutes(5), now + days};
}

Result<void> make_authority(const std::string& folder, const std::string& name, const Validity& validity) {
    CINNABAR_TRY_VOID(check_name(name));
    CINNABAR_TRY_VOID(make_folder(folder));
    CINNABAR_TRY(const Signer made, begin(name, validity));
    X509& own = *made.certificate;
    if (X509_set_issuer_name(&own, X509_get_subject_name(&own)) != 1 || !extend_authority(own) ||
        X509_sign(&own, made.key.get(), EVP_sha256()) == 0)
        return openssl_failed("OpenSSL cannot sign the certificate", name);
    CINNABAR_TRY_VOID(write_files(made, folder + "/ca"));
    return revoke(folder, {});
}

Result<void> make_certificate(const std::string& authority, const std::string& into, const Subject& subject,
                              const Validity& validity) {
    CINNABAR_TRY_VOID(check_name(subject.name));
    for (const std::string& host : subject.hosts) CINNABAR_TRY_VOID(check_host(host));
    if (subject.serves && subject.hosts.empty())
        return Error(Errc::invalid_argument,
                     "a server's certificate is for hosts: give --host for each name and address");
    CINNABAR_TRY(const Signer signer, read_authority(authority));
    CINNABAR_TRY_VOID(make_folder(into));
    CINNABAR_TRY(const Signer made, begin(subject.name, validity));
    X509& own = *made.certificate;
    if (X509_set_issuer_name(&own, X509_get_subject_name(signer.certificate.get())) != 1 ||
        !extend_subject(own, *signer.certificate, subject) || X509_sign(&own, signer.key.get(), EVP_sha256()) == 0)
        return openssl_failed("OpenSSL cannot sign the certificate", subject.name);
    return write_files(made, into + "/" + subject.name);
}

}  // namespace cinnabar::tools::security
