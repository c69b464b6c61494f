// SPDX-License-Identifier: BSD-3-Clause
// The authority that a folder has: what signs certificates, and the list of those that it revoked. Private to this
// folder.
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

// invalid_argument, with what OpenSSL says.
[[nodiscard]] Error openssl_failed(std::string_view hint, std::string subject = {});
// FOLDER/ca.pem and FOLDER/ca.key. invalid_argument: they are no authority; and what the system says.
[[nodiscard]] Result<Signer> read_authority(const std::string& folder);
// A certificate in PEM. invalid_argument; and what the system says.
[[nodiscard]] Result<Certificate> read_certificate(const std::string& path);
// What was written into it.
[[nodiscard]] std::string content_of(BIO& bio);

}  // namespace cinnabar::tools::security
