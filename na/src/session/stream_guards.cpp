// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream_guards.hpp>
#include <cinnabar/na/uri.hpp>

namespace cinnabar::na {

void log_reflected(std::string_view scheme, int fd) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, LogModule::named(family_of(scheme)),
                "a connection of this process came back to it, led there by somebody on the way or given up "
                "meanwhile, and is refused (%s)",
                SocketAddress::peer_of(fd).log_name(scheme).c_str());
}

void log_refused_without_guard(std::string_view scheme, int fd, const char* protected_scheme) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, LogModule::named(family_of(scheme)),
                "%s takes protected connections only: reach it by %s://",
                SocketAddress::peer_of(fd).log_name(scheme).c_str(), protected_scheme);
}

}  // namespace cinnabar::na
