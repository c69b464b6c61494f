// SPDX-License-Identifier: BSD-3-Clause
#include "security/authority.hpp"

#include "security/new_file.hpp"

#include <openssl/err.h>

#include <utility>

namespace cinnabar::tools::security {

Error openssl_failed(std::string_view hint, std::string subject) {
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    if (why) subject += (subject.empty() ? "" : ": ") + std::string(why);
    return Error(Errc::invalid_argument, hint, std::move(subject));
}

Result<Signer> read_authority(const std::string& folder) {
    CINNABAR_TRY(const std::string certificate, read_small_file(folder + "/ca.pem"));
    CINNABAR_TRY(std::string key, read_small_file(folder + "/ca.key"));
    const Bio certificate_source(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
    const Bio key_source(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
    Signer signer;
    if (certificate_source && key_source) {
        signer.certificate.reset(PEM_read_bio_X509(certificate_source.get(), nullptr, nullptr, nullptr));
        signer.key.reset(PEM_read_bio_PrivateKey(key_source.get(), nullptr, nullptr, const_cast<char*>("")));
    }
    OPENSSL_cleanse(key.data(), key.size());
    if (!signer.certificate || !signer.key || X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1)
        return openssl_failed("that is not an authority: make one with `cinnabar cert ca`", folder);
    return signer;
}

Result<Certificate> read_certificate(const std::string& path) {
    CINNABAR_TRY(const std::string text, read_small_file(path));
    const Bio source(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    Certificate certificate(source ? PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr) : nullptr);
    if (!certificate) return openssl_failed("that is not a certificate in PEM format", path);
    return certificate;
}

std::string content_of(BIO& bio) {
    char* begin = nullptr;
    const long bytes = BIO_get_mem_data(&bio, &begin);
    return {begin, static_cast<std::size_t>(bytes)};
}

}  // namespace cinnabar::tools::security
