// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {

TcpPeer::TcpPeer(TcpPort& port, na::Addr addr, std::vector<SocketAddress> places) noexcept
    : Peer(port, std::move(addr)), candidates(std::move(places)) {
    message_bytes_max_ = static_cast<std::uint32_t>(port.options().message_bytes_max);
    initial_credits_ = port.host().initial_credits();
}

void TcpPeer::set_connected(const SessionTerms& agreed, std::uint32_t own_message_bytes_max) noexcept {
    terms = agreed;
    incarnation_ = agreed.identity.incarnation;
    message_bytes_max_ = std::min(own_message_bytes_max, agreed.message_bytes_max);
    initial_credits_ = agreed.credits;
    ++epoch_;
    state_ = na::PeerState::connected;
}

}  // namespace cinnabar::tcp
