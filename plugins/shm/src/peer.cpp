// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::shm {

ShmPeer::ShmPeer(ShmPort& port, na::Addr addr, ListeningPlace where) noexcept
    : Peer(port, std::move(addr)), place(std::move(where)) {
    message_bytes_max_ = static_cast<std::uint32_t>(port.transport().limits().message_bytes_max);
    initial_credits_ = port.host().initial_credits();
}

void ShmPeer::set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept {
    identity = {hello.incarnation, hello.context};
    incarnation_ = hello.incarnation;
    message_bytes_max_ = std::min(own_message_bytes_max, hello.message_bytes_max);
    initial_credits_ = hello.credits;
    ++epoch_;
    state_ = na::PeerState::connected;
}

}  // namespace cinnabar::shm
