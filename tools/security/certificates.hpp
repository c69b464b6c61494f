// SPDX-License-Identifier: BSD-3-Clause
// A small certificate authority for labs and tests: a folder with the authority's certificate and key, and the
// certificates that the authority signs. Keys are of curve P-256, in files that only the files' owner can read.
#pragma once

#include <cinnabar/base/result.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cinnabar::tools::security {

using SystemTime = std::chrono::system_clock::time_point;

struct Validity {
    SystemTime from;
    SystemTime until;
};
// Valid from five minutes ago, since clocks of hosts differ.
[[nodiscard]] Validity valid_for(std::chrono::days days);

// The holder of a certificate. A server's certificate can also be used by a client.
struct Subject {
    std::string name;                // common name, shown to the other side
    std::vector<std::string> hosts;  // host names and IP addresses of a server
    bool serves = false;
};

// Creates an authority: writes FOLDER/ca.pem, FOLDER/ca.key, and FOLDER/ca.crl, an empty revocation list
// (revocations.hpp). Creates the folder if needed. exists: the folder has an authority. invalid_argument: invalid name.
// Also the errors of writing files.
[[nodiscard]] Result<void> make_authority(const std::string& folder, const std::string& name, const Validity& validity);

// Writes INTO/NAME.pem and INTO/NAME.key, signed by the authority in the folder `authority`. Errors: as
// make_authority(); invalid_argument also if there is no authority in that folder, or if the certificate is for a
// server and has no host.
[[nodiscard]] Result<void> make_certificate(const std::string& authority, const std::string& into,
                                            const Subject& subject, const Validity& validity);

}  // namespace cinnabar::tools::security
