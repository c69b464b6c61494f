// SPDX-License-Identifier: BSD-3-Clause
// Reads the certificate authority in a folder, which signs certificates and revocation lists. Private to this folder.
#pragma once

#include "security/openssl_types.hpp"

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools::security {

struct Signer {
    Certificate certificate;
    PrivateKey key;
};

// An invalid_argument error with OpenSSL's message.
[[nodiscard]] Error openssl_failed(std::string_view hint, std::string subject = {});
// Reads FOLDER/ca.pem and FOLDER/ca.key. invalid_argument: the two files are not a valid authority. Also the errors of
// reading files.
[[nodiscard]] Result<Signer> read_authority(const std::string& folder);
// Reads a certificate in PEM format. invalid_argument: malformed. Also the errors of reading files.
[[nodiscard]] Result<Certificate> read_certificate(const std::string& path);
// The bytes written to a memory BIO.
[[nodiscard]] std::string content_of(BIO& bio);

}  // namespace cinnabar::tools::security
