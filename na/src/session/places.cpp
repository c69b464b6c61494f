// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/places.hpp>

#include <algorithm>

namespace cinnabar::na {

Result<Places> places_of(const AddrBody& body, const Transport& transport) {
    Places places;
    Error failure(Errc::unreachable, "the address has no endpoint of this transport");
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        auto uri = Uri::parse(endpoint);
        if (!uri) return std::move(uri).error();
        auto found = resolve_at_once(*uri, Purpose::dial);
        if (!found) {
            places.names.push_back(*std::move(uri));
            continue;
        }
        if (!*found) {
            failure = std::move(*found).error();
            continue;
        }
        for (const SocketAddress& place : **found) {
            if (std::find(places.known.begin(), places.known.end(), place) == places.known.end()) {
                places.known.push_back(place);
            }
        }
    }
    if (places.known.empty() && places.names.empty()) return failure;
    return places;
}

std::string place_of(const Places& places, const AddrBody& wanted) {
    if (!places.known.empty()) return PeerTable::place_of(places.known.front().endpoint("tcp"), wanted);
    if (places.names.empty()) return {};
    const Uri& name = places.names.front();
    return PeerTable::place_of(name.host + ':' + std::to_string(name.port.value_or(0)), wanted);
}

}  // namespace cinnabar::na
