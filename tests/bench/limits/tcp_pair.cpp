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

namespace cinnabar::bench {
namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)}; }

std::size_t moved(ssize_t result, const char* what) {
    if (result > 0) return static_cast<std::size_t>(result);
    if (result == 0) throw std::runtime_error{"the raw connection ended"};
    if (errno == EAGAIN || errno == EINTR) return 0;
    fail(what);
}

}  // namespace

TcpPair make_tcp_pair() {
    UniqueFd listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (bind(listener.get(), any, size) != 0 || listen(listener.get(), 1) != 0 ||
        getsockname(listener.get(), any, &size) != 0) {
        fail("listen");
    }
    TcpPair pair;
    pair.client.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(pair.client.get(), any, size) != 0) fail("connect");
    pair.server.reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!pair.server) fail("accept");
    const int on = 1;
    for (const int fd : {pair.client.get(), pair.server.get()}) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
    }
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
