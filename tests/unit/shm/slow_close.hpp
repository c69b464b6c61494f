// SPDX-License-Identifier: BSD-3-Clause
// A descriptor whose last close blocks: a TCP socket that lingers, with bytes that the other side does not read.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace cinnabar::shm {

struct SlowClose {
    static constexpr int seconds = 20;  // closing `fd` blocks so long while `reader` is open
    UniqueFd fd;
    UniqueFd reader;

    // Empty if there is no loopback interface.
    static SlowClose make() {
        SlowClose out;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto* const where = reinterpret_cast<sockaddr*>(&address);
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const linger lingers{1, seconds};
        if (::bind(listener.get(), where, bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
            ::getsockname(listener.get(), where, &bytes) != 0 || ::connect(fd.get(), where, bytes) != 0 ||
            ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &lingers, sizeof lingers) != 0) {
            return out;
        }
        out.reader.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::array<char, 64 * 1024> data{};
        while (::send(fd.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        }
        if (out.reader) out.fd = std::move(fd);
        return out;
    }
};

}  // namespace cinnabar::shm
