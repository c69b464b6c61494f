// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/dial_targets.hpp>

#include <algorithm>

namespace cinnabar::na {

Result<DialTargets> dial_targets(const AddrBody& body, const Transport& transport) {
    DialTargets targets;
    Error failure(Errc::unreachable, "the address has no endpoint of this transport");
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        auto uri = Uri::parse(endpoint);
        if (!uri) return std::move(uri).error();
        auto found = resolve_at_once(*uri, Purpose::dial);
        if (!found) {
            targets.names.push_back(*std::move(uri));
            continue;
        }
        if (!*found) {
            failure = std::move(*found).error();
            continue;
        }
        for (const SocketAddress& address : **found) {
            if (std::find(targets.known.begin(), targets.known.end(), address) == targets.known.end()) {
                targets.known.push_back(address);
            }
        }
    }
    if (targets.known.empty() && targets.names.empty()) return failure;
    return targets;
}

std::string dial_key_of(const DialTargets& targets, const AddrBody& wanted) {
    if (!targets.known.empty()) return PeerTable::dial_key(targets.known.front().endpoint("tcp"), wanted);
    if (targets.names.empty()) return {};
    const Uri& name = targets.names.front();
    return PeerTable::dial_key(name.host + ':' + std::to_string(name.port.value_or(0)), wanted);
}

}  // namespace cinnabar::na
