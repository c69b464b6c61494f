// SPDX-License-Identifier: BSD-3-Clause
// The revocation list of an authority, for everybody who trusts it: FOLDER/ca.crl.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools::security {

// Adds certificates to the revocation list of the authority in that folder and signs the list again; creates the list
// if there is none. The list is valid as long as the authority. Certificates are never removed from the list.
// Concurrent readers find the old or the new list; a lock serializes concurrent calls.
//     invalid_argument  no authority; a certificate of another authority; a list signed by another authority
// Also the errors of reading and writing files.
[[nodiscard]] Result<void> revoke(const std::string& authority, const std::vector<std::string>& certificates);

}  // namespace cinnabar::tools::security
