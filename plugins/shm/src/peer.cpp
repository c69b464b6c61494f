// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::shm {

ShmPeer::ShmPeer(ShmPort& port, const na::Addr& addr, ListeningPlace at)
    : SessionPeer(port, addr, port.transport(), port.host(), place_of(at, addr)), listens_at(std::move(at)) {}

std::string ShmPeer::place_of(const ListeningPlace& at, const na::Addr& addr) {
    return at.path.empty() ? std::string() : na::PeerTable::place_of(at.path, addr.body());
}

void ShmPeer::set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept {
    SessionPeer::set_connected(hello.incarnation, std::min(own_message_bytes_max, hello.message_bytes_max),
                               hello.credits);
}

}  // namespace cinnabar::shm
