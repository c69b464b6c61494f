// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_pair.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cinnabar::bench {
namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)}; }

std::size_t moved(ssize_t result, const char* what) {
    if (result > 0) return static_cast<std::size_t>(result);
    if (result == 0) throw std::runtime_error{"the raw connection ended"};
    if (errno == EAGAIN || errno == EINTR) return 0;
    fail(what);
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

const sockaddr* generic(const sockaddr_in* address) { return reinterpret_cast<const sockaddr*>(address); }

// As fast as the machine can: nothing is held back to be coalesced, and nothing is paced. Pacing by BBR, if that is the
// default of the system, costs a raw stream a tenth.
void send_at_once(int fd) {
    const int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
    constexpr std::string_view unpaced = "reno";
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size()) != 0) fail("TCP_CONGESTION");
}

}  // namespace

UniqueFd listen_on_loopback() {
    UniqueFd listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const auto address = loopback(0);
    if (bind(listener.get(), generic(&address), sizeof address) != 0 || listen(listener.get(), 8) != 0) fail("listen");
    return listener;
}

std::uint16_t port_of(int listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
    return ntohs(address.sin_port);
}

UniqueFd dial(std::uint16_t port) {
    UniqueFd fd{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const auto address = loopback(port);
    if (connect(fd.get(), generic(&address), sizeof address) != 0) fail("connect");
    send_at_once(fd.get());
    return fd;
}

UniqueFd accept_from(int listener) {
    UniqueFd fd{accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)};
    if (!fd) fail("accept");
    send_at_once(fd.get());
    return fd;
}

void reset_at_close(int fd) {
    const linger at_once{1, 0};
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0) fail("SO_LINGER");
}

TcpPair make_tcp_pair() {
    const auto listener = listen_on_loopback();
    TcpPair pair;
    pair.client = dial(port_of(listener.get()));
    pair.server = accept_from(listener.get());
    return pair;
}

void send_all(int fd, const std::byte* from, std::size_t size, Wait wait) {
    const int flags = MSG_NOSIGNAL | (wait == Wait::spin ? MSG_DONTWAIT : 0);
    while (size > 0) {
        const auto sent = moved(send(fd, from, size, flags), "send");
        from += sent;
        size -= sent;
    }
}

void receive_all(int fd, std::byte* to, std::size_t size, Wait wait) {
    const int flags = wait == Wait::spin ? MSG_DONTWAIT : 0;
    while (size > 0) {
        const auto got = moved(recv(fd, to, size, flags), "recv");
        to += got;
        size -= got;
    }
}

std::size_t send_some(int fd, const std::byte* from, std::size_t size) {
    return moved(send(fd, from, size, MSG_NOSIGNAL | MSG_DONTWAIT), "send");
}

std::size_t receive_some(int fd, std::byte* to, std::size_t size) {
    return moved(recv(fd, to, size, MSG_DONTWAIT), "recv");
}

}  // namespace cinnabar::bench
