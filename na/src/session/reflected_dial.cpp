// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/reflected_dial.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/uri.hpp>

#include <string>

namespace cinnabar::na {

void log_reflected(std::string_view scheme, int fd) noexcept {
    static constinit LogLimit lines;
    const std::string peer = SocketAddress::peer_of(fd).log_name(scheme);
    log_limited(lines, LogLevel::warning, LogModule::named(family_of(scheme)),
                {peer_field(peer), transport_field(scheme), error_field(Errc::permission)},
                "rejected a connection of this process to itself: redirected on the way, or abandoned meanwhile (%s)",
                peer.c_str());
}

}  // namespace cinnabar::na
