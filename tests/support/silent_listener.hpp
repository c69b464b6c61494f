// SPDX-License-Identifier: BSD-3-Clause
// A TCP socket of the loopback that listens. Whoever dials it is connected, and gets no answer unless the test accepts.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace cinnabar::support {

class SilentListener {
  public:
    SilentListener() {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address_;
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address_), bytes), 0);
        EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &bytes), 0);
        EXPECT_EQ(::listen(fd_.get(), 8), 0);
    }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }
    // For example "127.0.0.1:40123".
    [[nodiscard]] std::string host_and_port() const { return "127.0.0.1:" + std::to_string(port()); }
    [[nodiscard]] bool was_dialled() const {
        pollfd ready{fd_.get(), POLLIN, 0};
        return ::poll(&ready, 1, 0) == 1;
    }

  private:
    UniqueFd fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address_{};
};

}  // namespace cinnabar::support
