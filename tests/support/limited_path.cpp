// SPDX-License-Identifier: BSD-3-Clause
#include "support/limited_path.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cinnabar::support {
namespace {

constexpr std::size_t first_link = 3;  // in the list that is polled, behind two events and the listener
constexpr double least = 512;          // bytes; what passes at once is at least this
constexpr std::chrono::duration<double> saved_up{0.2};  // longer than a busy machine lets a thread wait

sockaddr_in loopback_at(std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
}

bool may_come_later() { return errno == EAGAIN || errno == EINTR; }

void send_at_once(const UniqueFd& socket) {
    const int on = 1;
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

std::uint16_t LimitedPath::port_of(const std::string& server) {
    return static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1)));
}

void LimitedPath::event(const UniqueFd& fd) {
    constexpr std::uint64_t one = 1;
    (void)!::write(fd.get(), &one, sizeof one);
}

LimitedPath::LimitedPath(const std::string& server, double of_each, double of_all)
    : port_(port_of(server)),
      of_each_(of_each),
      of_all_(of_all),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      leave_(::eventfd(0, EFD_CLOEXEC)),
      cut_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      refilled_(Clock::now()) {
    sockaddr_in name = loopback_at(0);
    socklen_t bytes = sizeof name;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), bytes), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
    endpoint_ = server.substr(0, server.find("://")) + "://127.0.0.1:" + std::to_string(ntohs(name.sin_port));
    thread_ = std::thread([this] { run(); });
}

LimitedPath::~LimitedPath() {
    event(leave_);
    thread_.join();
}

void LimitedPath::drop(const Link& link) const {
    for (const auto& end : link.ends) {
        const linger at_once{1, 0};
        (void)::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
}

void LimitedPath::accept_one() {
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() < 0 || refuses_.load()) return;
    UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in name = loopback_at(port_.load());
    if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return;
    send_at_once(client);
    send_at_once(server);
    Link link;
    link.ends = {std::move(client), std::move(server)};
    links_.push_back(std::move(link));
    ++accepted_;
}

bool LimitedPath::may_pass(const Way& way, std::size_t direction) const {
    return std::min(way.budget, budget_of_all_.at(direction)) >= least;
}

void LimitedPath::refill() {
    const auto now = Clock::now();
    const std::chrono::duration<double> since = now - refilled_;
    refilled_ = now;
    const auto fill = [&since](double& budget, double rate) {
        budget = std::min(budget + rate * since.count(), std::max(rate * saved_up.count(), least));
    };
    for (auto& budget : budget_of_all_) fill(budget, of_all_);
    for (auto& link : links_) {
        for (auto& way : link.ways) fill(way.budget, of_each_);
    }
}

void LimitedPath::move(Link& link, std::size_t way) {
    auto& [pending, budget, ended] = link.ways.at(way);
    double& budget_of_all = budget_of_all_.at(way);
    const int to = link.ends.at(1 - way).get();
    if (pending.empty()) {
        if (!may_pass(link.ways.at(way), way)) return;
        std::array<char, 65536> buffer;
        const double most = std::min({static_cast<double>(buffer.size()), budget, budget_of_all});
        const ssize_t count =
            ::recv(link.ends.at(way).get(), buffer.data(), static_cast<std::size_t>(most), MSG_DONTWAIT);
        if (count < 0) {
            link.lost = !may_come_later();
            return;
        }
        if (count == 0) {
            ended = true;
            (void)::shutdown(to, SHUT_WR);
            return;
        }
        budget -= static_cast<double>(count);
        budget_of_all -= static_cast<double>(count);
        pending.assign(buffer.data(), static_cast<std::size_t>(count));
    }
    const ssize_t sent = ::send(to, pending.data(), pending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        link.lost = !may_come_later();
        return;
    }
    pending.erase(0, static_cast<std::size_t>(sent));
    link.bytes += static_cast<std::uint64_t>(sent);
    busiest_.store(std::max(busiest_.load(), link.bytes));
}

void LimitedPath::run() {
    for (;;) {
        refill();
        std::vector<pollfd> wanted{{leave_.get(), POLLIN, 0}, {cut_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        bool waits = false;
        for (const auto& link : links_) {
            for (std::size_t way = 0; way < link.ways.size(); ++way) {
                const bool sends = !link.ways.at(way).pending.empty();
                const bool held = !sends && !may_pass(link.ways.at(way), way);
                waits = waits || held;
                const int fd = link.ends.at(sends ? 1 - way : way).get();
                const bool idle = held || link.ways.at(way).ended;
                wanted.push_back({idle ? -1 : fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
            }
        }
        if (::poll(wanted.data(), wanted.size(), waits ? 1 : -1) < 0) continue;
        if (wanted[0].revents != 0) return;
        std::uint64_t cuts = 0;
        if (wanted[1].revents != 0 && ::read(cut_.get(), &cuts, sizeof cuts) > 0 && !links_.empty()) {
            drop(links_.back());
            links_.pop_back();
            continue;
        }
        for (std::size_t i = first_link; i < wanted.size(); ++i) {
            if (wanted[i].revents != 0) move(links_[(i - first_link) / 2], (i - first_link) % 2);
        }
        std::erase_if(links_, [this](const Link& link) {
            if (link.lost) drop(link);
            return link.lost || (link.ways[0].ended && link.ways[1].ended);
        });
        if (wanted[2].revents != 0) accept_one();
    }
}

}  // namespace cinnabar::support
