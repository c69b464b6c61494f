// SPDX-License-Identifier: BSD-3-Clause
// An eavesdropper between a client and a server on loopback TCP, who only listens, and later repeats on a connection of
// its own what the client has sent.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cinnabar::files {

class Wiretap {
  public:
    // For a server at "tcp://127.0.0.1:PORT".
    explicit Wiretap(const std::string& server)
        : port_(static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1)))) {
        sockaddr_in name = loopback(0);
        socklen_t bytes = sizeof name;
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), bytes), 0);
        EXPECT_EQ(::listen(listener_.get(), 8), 0);
        EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(name.sin_port));
        thread_ = std::thread([this] { relay(); });
    }
    ~Wiretap() {
        constexpr std::uint64_t one = 1;
        (void)!::write(leave_.get(), &one, sizeof one);
        thread_.join();
    }
    Wiretap(const Wiretap&) = delete;
    Wiretap& operator=(const Wiretap&) = delete;

    // The address to which the client connects instead of the server's.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    // The number of bytes passed on, both directions together.
    [[nodiscard]] std::uint64_t passed() const { return passed_.load(); }
    // Sends everything that was heard on the first connection, piece by piece; answers are read and dropped. Stops if
    // the server ends the connection, which otherwise stays open as long as this object exists.
    void replay() {
        replayed_ = dial();
        std::vector<std::string> pieces;
        {
            const std::lock_guard lock(mutex_);
            pieces = heard_;
        }
        for (const auto& piece : pieces) {
            if (::send(replayed_.get(), piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return;
            pollfd answer{replayed_.get(), POLLIN, 0};
            std::array<char, 65536> dropped;
            constexpr int patience_ms = 20;  // some pieces have no answer
            if (::poll(&answer, 1, patience_ms) == 1) (void)::recv(replayed_.get(), dropped.data(), dropped.size(), 0);
        }
    }
    // Whether the server has ended the connection of replay().
    [[nodiscard]] bool replay_has_ended() const {
        std::array<char, 65536> dropped;
        ssize_t count = 0;
        do {
            count = ::recv(replayed_.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
        } while (count > 0);
        return count == 0 || errno != EAGAIN;
    }

  private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_port = htons(port);
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return name;
    }
    [[nodiscard]] UniqueFd dial() const {
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in name = loopback(port_);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
        return fd;
    }
    void relay() {
        std::vector<std::pair<UniqueFd, UniqueFd>> links;  // the client's end, the server's end
        for (;;) {
            std::vector<pollfd> wanted{{leave_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            for (const auto& [client, server] : links) {
                wanted.push_back({client.get(), POLLIN, 0});
                wanted.push_back({server.get(), POLLIN, 0});
            }
            if (::poll(wanted.data(), wanted.size(), -1) < 0 || wanted[0].revents) return;
            for (std::size_t i = 2; i < wanted.size(); ++i) {
                const auto& [client, server] = links[(i - 2) / 2];
                const bool of_client = i % 2 == 0;
                if (wanted[i].revents) pass_on(of_client ? client : server, of_client ? server : client, i == 2);
            }
            if (!wanted[1].revents) continue;
            UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            links.emplace_back(std::move(client), dial());
        }
    }
    void pass_on(const UniqueFd& from, const UniqueFd& to, bool listens) {
        std::array<char, 65536> buffer;
        const ssize_t count = ::recv(from.get(), buffer.data(), buffer.size(), 0);
        if (count <= 0) {
            (void)::shutdown(to.get(), SHUT_WR);
            (void)::shutdown(from.get(), SHUT_RD);
            return;
        }
        (void)::send(to.get(), buffer.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
        passed_ += static_cast<std::uint64_t>(count);
        if (!listens) return;
        const std::lock_guard lock(mutex_);
        heard_.emplace_back(buffer.data(), static_cast<std::size_t>(count));
    }

    const std::uint16_t port_;
    UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    UniqueFd leave_{::eventfd(0, EFD_CLOEXEC)};
    UniqueFd replayed_;
    std::string endpoint_;
    std::atomic<std::uint64_t> passed_ = 0;
    std::mutex mutex_;
    std::vector<std::string> heard_;  // the pieces sent on the first connection, as they arrived
    std::thread thread_;
};

}  // namespace cinnabar::files
