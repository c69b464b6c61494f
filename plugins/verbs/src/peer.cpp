// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::verbs {

VerbsPeer::VerbsPeer(VerbsPort& port, const na::Addr& addr, na::Places where)
    : SessionPeer(port, addr, port.transport(), port.host(), na::place_of(where, addr.body())),
      places(std::move(where)) {}

void VerbsPeer::set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept {
    SessionPeer::set_connected(hello.incarnation, std::min(own_message_bytes_max, hello.message_bytes_max),
                               hello.credits);
}

}  // namespace cinnabar::verbs
