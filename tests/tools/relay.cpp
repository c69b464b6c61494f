// SPDX-License-Identifier: BSD-3-Clause
#include "relay.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cinnabar::tools {
namespace {

constexpr std::size_t slow_bytes = 2048;
constexpr std::size_t first_link = 3;  // in the list that is polled, behind two events and the listener

sockaddr_in loopback_at(std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
}

// So that closing the socket resets its connection.
void forget_at_close(const UniqueFd& socket) {
    const linger at_once{1, 0};
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void send_at_once(const UniqueFd& socket) {
    const int on = 1;
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void raise_event(const UniqueFd& event) {
    constexpr std::uint64_t one = 1;
    (void)!::write(event.get(), &one, sizeof one);
}

bool may_come_later() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Relay::Relay(const std::string& server, std::vector<CableFault> faults)
    : port_(static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1)))),
      faults_(std::move(faults)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      leave_(::eventfd(0, EFD_CLOEXEC)),
      cut_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    sockaddr_in name = loopback_at(0);
    socklen_t bytes = sizeof name;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), bytes), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(name.sin_port));
    thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
    raise_event(leave_);
    thread_.join();
}

void Relay::cut() { raise_event(cut_); }

UniqueFd Relay::dial() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in name = loopback_at(port_);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return UniqueFd();
    return fd;
}

void Relay::reset_all() {
    for (const auto& link : links_) {
        for (const auto& end : link.ends) forget_at_close(end);
    }
    links_.clear();
}

void Relay::begin(const CableFault& fault) {
    const auto end = Clock::now() + fault.lasts;
    switch (fault.kind) {
        case CableFault::Kind::unplug:
            unplugged_until_ = end;
            return reset_all();
        case CableFault::Kind::cut:
            return reset_all();
        case CableFault::Kind::stall_and_cut:
            cut_later_ = true;
            stalled_until_ = end;
            return;
        case CableFault::Kind::stall:
            stalled_until_ = end;
            return;
        case CableFault::Kind::slow:
            slow_until_ = end;
            return;
    }
}

void Relay::accept_one() {
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() < 0) return;
    UniqueFd server;
    if (Clock::now() >= unplugged_until_) server = dial();
    if (server.get() < 0) return forget_at_close(client);
    send_at_once(client);
    send_at_once(server);
    Link link;
    link.ends = {std::move(client), std::move(server)};
    links_.push_back(std::move(link));
}

void Relay::move(Link& link, std::size_t way) {
    auto& [pending, ended] = link.ways.at(way);
    const int to = link.ends.at(1 - way).get();
    if (pending.empty()) {
        std::array<char, 65536> buffer;
        const std::size_t most = Clock::now() < slow_until_ ? slow_bytes : buffer.size();
        const ssize_t count = ::recv(link.ends.at(way).get(), buffer.data(), most, MSG_DONTWAIT);
        if (count < 0) {
            link.lost = !may_come_later();
            return;
        }
        if (count == 0) {
            ended = true;
            (void)::shutdown(to, SHUT_WR);
            return;
        }
        pending.assign(buffer.data(), static_cast<std::size_t>(count));
    }
    const ssize_t sent = ::send(to, pending.data(), pending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        link.lost = !may_come_later();
        return;
    }
    pending.erase(0, static_cast<std::size_t>(sent));
    since_ += static_cast<std::uint64_t>(sent);
}

int Relay::patience_ms(Clock::time_point now) const {
    if (now >= stalled_until_) return -1;
    return 1 + static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(stalled_until_ - now).count());
}

void Relay::run() {
    for (;;) {
        const auto now = Clock::now();
        const bool stalled = now < stalled_until_;
        if (!stalled && std::exchange(cut_later_, false)) reset_all();
        std::vector<pollfd> wanted{{leave_.get(), POLLIN, 0}, {cut_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        for (const auto& link : links_) {
            for (std::size_t way = 0; way < link.ways.size(); ++way) {
                const bool sends = !link.ways.at(way).pending.empty();
                const int fd = link.ends.at(sends ? 1 - way : way).get();
                const bool waits = stalled || link.ways.at(way).ended;
                wanted.push_back({waits ? -1 : fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
            }
        }
        if (::poll(wanted.data(), wanted.size(), patience_ms(now)) < 0) continue;
        if (wanted[0].revents != 0) return;
        std::uint64_t cuts = 0;
        if (wanted[1].revents != 0 && ::read(cut_.get(), &cuts, sizeof cuts) > 0) {
            reset_all();
            continue;
        }
        for (std::size_t i = first_link; i < wanted.size(); ++i) {
            if (wanted[i].revents != 0) move(links_[(i - first_link) / 2], (i - first_link) % 2);
        }
        std::erase_if(links_, [](const Link& link) {
            if (link.lost) {
                for (const auto& end : link.ends) forget_at_close(end);
            }
            return link.lost || (link.ways[0].ended && link.ways[1].ended);
        });
        if (wanted[2].revents != 0) accept_one();
        if (next_ < faults_.size() && since_ >= faults_[next_].after) {
            since_ = 0;
            begin(faults_[next_++]);
        }
        if (now < slow_until_) (void)::poll(nullptr, 0, 1);
    }
}

}  // namespace cinnabar::tools
