// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/socket.hpp>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace cinnabar::na {
namespace {

constexpr int backlog = 4096;  // the kernel limits it to net.core.somaxconn

void set(int fd, int level, int option, int value) noexcept {
    (void)::setsockopt(fd, level, option, &value, sizeof value);
}

Moved moved(ssize_t count, bool reading) noexcept {
    if (count > 0) return {static_cast<std::size_t>(count), Errc::ok};
    if (count == 0) return {0, reading ? Errc::peer_lost : Errc::again};
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM) return {0, Errc::again};
    return {0, Errc::peer_lost};
}

// Within a host there is no congested path, and an algorithm that paces (BBR) would only add delay.
void stop_pacing_within_host(int fd) noexcept {
    const SocketAddress peer = SocketAddress::peer_of(fd);
    if (!peer.is_loopback() && !peer.same_host(SocketAddress::local_of(fd))) return;
    constexpr std::string_view unpaced = "reno";  // every kernel has it
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size());
}

}  // namespace

Result<UniqueFd> listen_at(const std::vector<SocketAddress>& addresses) {
    int failed = EADDRNOTAVAIL;
    for (const SocketAddress& address : addresses) {
        UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!fd) {
            failed = errno;
            continue;
        }
        set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        if (address.family() == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
        if (::bind(fd.get(), address.get(), address.bytes()) == 0 && ::listen(fd.get(), backlog) == 0) return fd;
        failed = errno;
        if (failed == EADDRINUSE || failed == EACCES) break;
    }
    Errc code = errc_from_errno(failed);
    if (failed == EADDRINUSE) code = Errc::address_in_use;
    if (failed == EADDRNOTAVAIL || failed == EAFNOSUPPORT) code = Errc::bad_address;
    return Error(code, "listening", addresses.front().endpoint("tcp"), failed);
}

Errc start_connect(const SocketAddress& to, const SocketAddress* source, UniqueFd& out) noexcept {
    UniqueFd fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return connect_errc(errno);
    if (source && source->family() == to.family()) {
        set(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        if (::bind(fd.get(), source->get(), source->bytes()) != 0) return connect_errc(errno);
    }
    if (::connect(fd.get(), to.get(), to.bytes()) != 0 && errno != EINPROGRESS && errno != EINTR) {
        return connect_errc(errno);
    }
    out = std::move(fd);
    return Errc::ok;
}

Errc connect_outcome(int fd) noexcept {
    int failed = 0;
    socklen_t bytes = sizeof failed;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &bytes) != 0) failed = errno;
    if (failed != 0) return connect_errc(failed);
    sockaddr_storage peer{};
    bytes = sizeof peer;
    // The event may be a late one for an earlier descriptor with this number: trust the socket, not the event.
    return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 ? Errc::ok : Errc::again;
}

void tune(int fd, Microseconds keepalive) noexcept {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    stop_pacing_within_host(fd);
    if (keepalive.count() <= 0) return;
    const auto ms = static_cast<int>(std::clamp<std::int64_t>(keepalive.count() / 1000, 1000, 3'600'000));
    const int seconds = ms / 1000;
    // Keepalive probes begin after half of the time, and fill the other half. For data that are not acknowledged, the
    // user timeout counts the whole time from the first loss.
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 2));
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 10));
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

Errc connect_errc(int os_errno) noexcept {
    switch (os_errno) {
        case ECONNREFUSED:
            return Errc::refused;
        case ECONNRESET:
        case ECONNABORTED:
        case EPIPE:
            return Errc::peer_lost;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
            return Errc::overloaded;
        case ENOMEM:
            return Errc::out_of_memory;
        case EACCES:
        case EPERM:
            return Errc::permission;
        default:
            return Errc::unreachable;
    }
}

void discard_received(int fd) noexcept {
#ifdef __SANITIZE_THREAD__  // ThreadSanitizer takes null for memory that threads share
    std::array<std::byte, 64 * 1024> room;
    std::byte* const to = room.data();
    constexpr std::size_t step = sizeof room;
#else
    std::byte* const to = nullptr;
    constexpr std::size_t step = 1024 * 1024;
#endif
    for (int tries = 0; tries < 8 && ::recv(fd, to, step, MSG_TRUNC | MSG_DONTWAIT) > 0; ++tries) {
    }
}

Moved receive_some(int fd, void* to, std::size_t bytes) noexcept {
    return moved(::recv(fd, to, bytes, MSG_DONTWAIT), true);
}

Moved receive_some(int fd, iovec* pieces, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    return moved(::recvmsg(fd, &message, MSG_DONTWAIT), true);
}

Moved send_some(int fd, const void* from, std::size_t bytes) noexcept {
    return moved(::send(fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

Moved send_some(int fd, iovec* pieces, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    return moved(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

Moved send_ahead(int fd, const void* from, std::size_t bytes) noexcept {
    return moved(::send(fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE), false);
}

bool hung_up(int fd) noexcept {
    pollfd look{fd, POLLRDHUP, 0};
    return ::poll(&look, 1, 0) == 1 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace cinnabar::na
