// SPDX-License-Identifier: BSD-3-Clause
// Checks the names of keys and certificates. They become file names, parts of log lines and of certificates, so few
// characters are allowed. Pure.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string_view>

namespace cinnabar::tools::security {

// Letters, digits and "-_.@", beginning with a letter or a digit; at most 64. invalid_argument.
[[nodiscard]] Result<void> check_name(std::string_view name);
// A host that a certificate is for: an IP address, or a name whose first part may be "*". invalid_argument.
[[nodiscard]] Result<void> check_host(std::string_view host);
// Whether it is an IP address.
[[nodiscard]] bool is_ip(std::string_view host);

}  // namespace cinnabar::tools::security
