// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {

TcpPeer::TcpPeer(TcpPort& port, const na::Addr& addr, std::vector<SocketAddress> places)
    : SessionPeer(port, addr, port.transport(), port.host(), place_of(places, addr)), candidates(std::move(places)) {}

std::string TcpPeer::place_of(const std::vector<SocketAddress>& places, const na::Addr& addr) {
    return places.empty() ? std::string() : na::PeerTable::place_of(places.front().endpoint(), addr.body());
}

void TcpPeer::set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept {
    terms = agreed;
    SessionPeer::set_connected(std::min(own_message_bytes_max, agreed.message_bytes_max), agreed.credits);
}

}  // namespace cinnabar::tcp
