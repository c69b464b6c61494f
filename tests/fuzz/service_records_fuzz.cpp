// SPDX-License-Identifier: BSD-3-Clause
// SRV records in answers of name servers: what is decoded becomes addresses, each of which parses to its host and port;
// ordering neither loses nor invents one.
#include "service_records.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

using namespace cinnabar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    auto records = group::decode_services(std::as_bytes(std::span(bytes, size)));
    if (!records) {
        CINNABAR_ASSERT(records.code() == Errc::protocol);
        return 0;
    }
    for (const group::ServiceRecord& record : *records) {
        const std::string text = na::Uri{"tcp", record.host, record.port, {}, {}}.to_string();
        const auto parsed = na::Uri::parse(text);
        CINNABAR_ASSERT(parsed.ok() && parsed->host == record.host && parsed->port == record.port);
    }
    auto ordered = *records;
    Random random(size);
    group::order_services(ordered, random);
    CINNABAR_ASSERT(std::is_permutation(ordered.begin(), ordered.end(), records->begin(), records->end()));
    CINNABAR_ASSERT(std::is_sorted(ordered.begin(), ordered.end(),
                                   [](const auto& one, const auto& other) { return one.priority < other.priority; }));
    return 0;
}
