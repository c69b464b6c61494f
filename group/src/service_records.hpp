// SPDX-License-Identifier: BSD-3-Clause
// SRV records of DNS (RFC 2782). Pure functions; the answer comes from the network.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::group {

struct ServiceRecord {
    std::uint16_t priority = 0;  // the lowest is tried first
    std::uint16_t weight = 0;    // among equal priorities, a larger one is more often the first
    std::uint16_t port = 0;
    std::string host;  // letters, digits, '-', '_' and '.', without a dot at the end
    friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};

// Decodes the SRV records in the answer section of a DNS message, in the order of the message, each record once. A
// record whose host is the root says that the service is not offered, and is left out. protocol: the message is
// malformed, is not an answer, or a record has a port 0 or a host that is no host name.
[[nodiscard]] CINNABAR_API Result<std::vector<ServiceRecord>> decode_services(ConstBytes message);

// Orders the records as clients try them: by priority, and at random by weight among equal priorities.
CINNABAR_API void order_services(std::vector<ServiceRecord>& records, Random& random);

}  // namespace cinnabar::group
