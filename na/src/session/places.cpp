// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/places.hpp>

#include <algorithm>

namespace cinnabar::na {

Result<std::vector<SocketAddress>> places_of(const AddrBody& body, const Transport& transport) {
    std::vector<SocketAddress> places;
    Error failure(Errc::unreachable, "the address has no endpoint of this transport");
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        auto uri = Uri::parse(endpoint);
        if (!uri) return std::move(uri).error();
        auto found = resolve(*uri, Purpose::dial);
        if (!found) {
            failure = std::move(found).error();
            continue;
        }
        for (const SocketAddress& place : *found) {
            if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
        }
    }
    if (places.empty()) return failure;
    return places;
}

std::string place_of(const std::vector<SocketAddress>& places, const AddrBody& wanted) {
    return places.empty() ? std::string() : PeerTable::place_of(places.front().endpoint("tcp"), wanted);
}

}  // namespace cinnabar::na
