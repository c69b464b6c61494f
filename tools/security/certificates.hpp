// SPDX-License-Identifier: BSD-3-Clause
// A small certificate authority, for labs and tests: its own certificate and key in a folder, and those that it signs.
// Keys are of the curve P-256 and lie in files that only their owner can read.
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
// From five minutes ago, since clocks differ.
[[nodiscard]] Validity valid_for(std::chrono::days days);

// Who a certificate is for. A server's is good for dialling, too.
struct Subject {
    std::string name;                // its common name, which the other side sees
    std::vector<std::string> hosts;  // where a server is dialled: names and IP addresses
    bool serves = false;
};

// FOLDER/ca.pem, FOLDER/ca.key, and FOLDER/ca.crl, which names nothing yet (revocations.hpp), in a folder that is made
// if it is not there. exists; invalid_argument: the name; and what the system says.
[[nodiscard]] Result<void> make_authority(const std::string& folder, const std::string& name, const Validity& validity);

// INTO/NAME.pem and INTO/NAME.key, signed by the authority in `authority`. The same errors; also invalid_argument:
// there is no authority in that folder, or a server has no host.
[[nodiscard]] Result<void> make_certificate(const std::string& authority, const std::string& into,
                                            const Subject& subject, const Validity& validity);

}  // namespace cinnabar::tools::security
