// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/pending_sources.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace cinnabar::na {

Source source_of(const SocketAddress& address) noexcept {
    if (address.family() == AF_INET) return reinterpret_cast<const sockaddr_in*>(address.get())->sin_addr.s_addr;
    Source network = 0;
    std::memcpy(&network, reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_addr.s6_addr, sizeof network);
    return network;
}

Source source_of_connection(int fd) noexcept {
    const SocketAddress address = SocketAddress::peer_of(fd);
    if (address.family() == AF_INET || address.family() == AF_INET6) return source_of(address);
    ucred credentials{};
    socklen_t bytes = sizeof credentials;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) == 0 ? credentials.uid : 0;
}

std::uint32_t PendingSources::account_of(Source source) noexcept {
    std::uint32_t unused = used_;
    for (std::uint32_t i = 0; i < used_; ++i) {
        if (accounts_[i].pending == 0)
            unused = std::min(unused, i);
        else if (accounts_[i].source == source)
            return i;
    }
    accounts_[unused] = {source, 0};
    used_ = std::max(used_, unused + 1);
    return unused;
}

void PendingSources::enter(std::uint32_t handshake, Source source) noexcept {
    CINNABAR_DEBUG_ASSERT(handshake < pending_max);
    const std::uint32_t account = account_of(source);
    ++accounts_[account].pending;
    account_of_[handshake] = static_cast<std::uint16_t>(account);
}

void PendingSources::leave(std::uint32_t handshake) noexcept {
    --accounts_[account_of_[handshake]].pending;
    while (used_ > 0 && accounts_[used_ - 1].pending == 0) --used_;
}

std::uint32_t PendingSources::most() const noexcept {
    std::uint32_t most = 0;
    for (const Account& each : std::span(accounts_).first(used_)) most = std::max(most, each.pending);
    return most;
}

std::uint32_t PendingSources::beside(std::uint32_t handshake) const noexcept {
    return accounts_[account_of_[handshake]].pending;
}

}  // namespace cinnabar::na
