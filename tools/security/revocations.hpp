// SPDX-License-Identifier: BSD-3-Clause
// The list of certificates that an authority has revoked, for those who believe its others: FOLDER/ca.crl.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools::security {

// Puts the certificates of these files into the list of the authority in that folder and signs it anew; the list is
// made if there is none. It is good for as long as the authority. Whoever reads it meanwhile finds the old or the new
// one, and of two who revoke at the same time one waits for the other. A certificate that is on the list stays there.
//   invalid_argument  no authority; no certificate of this one; a list that another one has signed
// and what the system says.
[[nodiscard]] Result<void> revoke(const std::string& authority, const std::vector<std::string>& certificates);

}  // namespace cinnabar::tools::security
