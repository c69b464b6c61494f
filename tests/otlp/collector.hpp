// SPDX-License-Identifier: BSD-3-Clause
// A stub of a collector: receives HTTP requests, stores their bodies, and answers with a status or not at all.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::test {

class Collector {
  public:
    // `status` 0: it reads, but never answers.
    explicit Collector(int status) : status_(status), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof name;
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), bytes), 0);
        EXPECT_EQ(::listen(socket_.get(), 16), 0);
        EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
        port_ = ntohs(name.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~Collector() {
        (void)::shutdown(socket_.get(), SHUT_RDWR);
        thread_.join();
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces"; }
    // The head and the body of each request.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

  private:
    void serve() {
        for (;;) {
            const UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!connection) return;
            take(connection.get());
        }
    }
    void take(int connection) {
        std::string text;
        std::size_t body_bytes = 0;
        std::size_t head_bytes = std::string::npos;
        std::array<char, 65'536> some{};
        while (head_bytes == std::string::npos || text.size() < head_bytes + body_bytes) {
            const ssize_t count = ::recv(connection, some.data(), some.size(), 0);
            if (count <= 0) return;
            text.append(some.data(), static_cast<std::size_t>(count));
            if (head_bytes != std::string::npos || (head_bytes = text.find("\r\n\r\n")) == std::string::npos) continue;
            head_bytes += 4;
            const auto length = text.find("Content-Length: ");
            body_bytes = length < head_bytes ? std::stoul(text.substr(length + 16)) : 0;
        }
        {
            const std::lock_guard lock(mutex_);
            requests_.emplace_back(text.substr(0, head_bytes), text.substr(head_bytes));
        }
        if (status_ == 0) {  // waits until the other side gives up
            while (::recv(connection, some.data(), some.size(), 0) > 0) {
            }
            return;
        }
        const std::string answer = "HTTP/1.1 " + std::to_string(status_) +
                                   " x\r\nContent-Length: 2\r\n"
                                   "Content-Type: application/json\r\nConnection: close\r\n\r\n{}";
        (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }

    const int status_;
    UniqueFd socket_;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::vector<std::pair<std::string, std::string>> requests_;
    std::thread thread_;
};

}  // namespace cinnabar::test
