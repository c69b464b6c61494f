// SPDX-License-Identifier: BSD-3-Clause
// The certificate authority in a folder, which signs certificates and its list of revoked ones. Private to this folder.
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
// Reads FOLDER/ca.pem and FOLDER/ca.key. invalid_argument: they are not an authority; and the errors of the system.
[[nodiscard]] Result<Signer> read_authority(const std::string& folder);
// Reads a certificate in PEM format. invalid_argument; and the errors of the system.
[[nodiscard]] Result<Certificate> read_certificate(const std::string& path);
// The bytes that were written into it.
[[nodiscard]] std::string content_of(BIO& bio);

}  // namespace cinnabar::tools::security
