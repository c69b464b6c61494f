// SPDX-License-Identifier: BSD-3-Clause
// The list of certificates that an authority has revoked, for everybody who trusts that authority: FOLDER/ca.crl.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools::security {

// Adds the certificates in these files to the list of the authority in that folder, and signs it again; creates the
// list if there is none. The list is valid as long as the authority. Concurrent readers find the old or the new list;
// of two concurrent calls, one waits for the other. Certificates stay on the list.
//     invalid_argument  no authority; a certificate of another one; a list that another one has signed
// and the errors of the system.
[[nodiscard]] Result<void> revoke(const std::string& authority, const std::vector<std::string>& certificates);

}  // namespace cinnabar::tools::security
