// SPDX-License-Identifier: BSD-3-Clause
// Checks the names of keys and certificates. Such names are used in file names, log lines and certificates, so only a
// few characters are allowed. Pure functions.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string_view>

namespace cinnabar::tools::security {

// Accepts at most 64 letters, digits and "-_.@", beginning with a letter or digit; otherwise invalid_argument.
[[nodiscard]] Result<void> check_name(std::string_view name);
// Accepts the host of a certificate: an IP address, or a name whose first component may be "*"; otherwise
// invalid_argument.
[[nodiscard]] Result<void> check_host(std::string_view host);
// Whether `host` is an IP address.
[[nodiscard]] bool is_ip(std::string_view host);

}  // namespace cinnabar::tools::security
