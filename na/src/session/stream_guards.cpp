// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream_guards.hpp>
#include <cinnabar/na/uri.hpp>

#include <string>

namespace cinnabar::na {

void log_refused_without_guard(std::string_view scheme, int fd, const char* protected_scheme) noexcept {
    static constinit LogLimit lines;
    const std::string peer = SocketAddress::peer_of(fd).log_name(scheme);
    log_limited(lines, LogLevel::warning, LogModule::named(family_of(scheme)),
                {peer_field(peer), transport_field(scheme), error_field(Errc::permission)},
                "%s takes protected connections only: reach it by %s://", peer.c_str(), protected_scheme);
}

}  // namespace cinnabar::na
