// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::verbs {

VerbsPeer::VerbsPeer(VerbsPort& port, const na::Addr& addr, std::vector<SocketAddress> places)
    : SessionPeer(port, addr, port.transport(), port.host(), place_of(places, addr)), candidates(std::move(places)) {}

std::string VerbsPeer::place_of(const std::vector<SocketAddress>& places, const na::Addr& addr) {
    return places.empty() ? std::string() : na::PeerTable::place_of(places.front().endpoint("verbs"), addr.body());
}

void VerbsPeer::set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept {
    SessionPeer::set_connected(std::min(own_message_bytes_max, hello.message_bytes_max), hello.credits);
}

}  // namespace cinnabar::verbs
