// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {

TcpPeer::TcpPeer(TcpPort& port, const na::Addr& addr, na::Places where)
    : SessionPeer(port, addr, port.transport(), port.host(), na::place_of(where, addr.body())),
      places(std::move(where)) {}

void TcpPeer::set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept {
    terms = agreed;
    SessionPeer::set_connected(agreed.incarnation, std::min(own_message_bytes_max, agreed.message_bytes_max),
                               agreed.credits);
}

}  // namespace cinnabar::tcp
