// SPDX-License-Identifier: BSD-3-Clause
// A small certificate authority for labs and tests: a folder with its own certificate and key, and those that it signs.
// Keys use the curve P-256, in files that only their owner can read.
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
// Starts five minutes ago, since clocks differ.
[[nodiscard]] Validity valid_for(std::chrono::days days);

// Who a certificate is for. A server's certificate also works for dialling.
struct Subject {
    std::string name;                // common name, which the other side sees
    std::vector<std::string> hosts;  // names and IP addresses at which a server is dialled
    bool serves = false;
};

// Writes FOLDER/ca.pem, FOLDER/ca.key, and FOLDER/ca.crl, an empty list (revocations.hpp). Creates the folder if
// needed. exists; invalid_argument: the name; and the errors of the system.
[[nodiscard]] Result<void> make_authority(const std::string& folder, const std::string& name, const Validity& validity);

// Writes INTO/NAME.pem and INTO/NAME.key, signed by the authority in `authority`. The same errors; also
// invalid_argument: there is no authority in that folder, or a server has no host.
[[nodiscard]] Result<void> make_certificate(const std::string& authority, const std::string& into,
                                            const Subject& subject, const Validity& validity);

}  // namespace cinnabar::tools::security
