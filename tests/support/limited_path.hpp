// SPDX-License-Identifier: BSD-3-Clause
// A path between a client and a server on loopback TCP on which each connection has a rate, and all of them together
// may have one, as on a long path or behind a device that limits flows.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::support {

class LimitedPath {
  public:
    static constexpr double any_rate = 1e12;
    // For a server at "tcp://127.0.0.1:PORT" or "tcps://127.0.0.1:PORT". Rates: bytes per second in each direction.
    LimitedPath(const std::string& server, double of_each, double of_all = any_rate);
    ~LimitedPath();
    LimitedPath(const LimitedPath&) = delete;
    LimitedPath& operator=(const LimitedPath&) = delete;

    // The address to which the client connects instead of the server's.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    // How many connections were made. Any thread.
    [[nodiscard]] unsigned connections() const { return accepted_.load(); }
    // How many bytes passed over the connection over which most did. Any thread.
    [[nodiscard]] std::uint64_t bytes_of_busiest() const { return busiest_.load(); }
    // Resets the last connection that was made. Any thread.
    void cut_last() { event(cut_); }
    // From now on, new connections are refused. Any thread.
    void refuse_more() { refuses_.store(true); }
    // From now on, new connections lead to another server. Any thread.
    void lead_to(const std::string& server) { port_.store(port_of(server)); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Way {
        std::string pending;  // received, and not sent yet
        double budget = 0;    // bytes that may pass now
        bool ended = false;
    };
    // `ends`: of the client and of the server. `ways`: from the client, and from the server.
    struct Link {
        std::array<UniqueFd, 2> ends;
        std::array<Way, 2> ways;
        std::uint64_t bytes = 0;  // that have passed
        bool lost = false;
    };
    [[nodiscard]] static std::uint16_t port_of(const std::string& server);
    static void event(const UniqueFd& fd);
    void run();
    void refill();
    void move(Link& link, std::size_t way);
    void accept_one();
    void drop(const Link& link) const;
    [[nodiscard]] bool may_pass(const Way& way, std::size_t direction) const;

    std::atomic<std::uint16_t> port_;
    const double of_each_;
    const double of_all_;
    std::string endpoint_;
    UniqueFd listener_;
    UniqueFd leave_;
    UniqueFd cut_;
    std::atomic<unsigned> accepted_{0};
    std::atomic<std::uint64_t> busiest_{0};
    std::atomic<bool> refuses_{false};
    // The rest belongs to the thread.
    std::vector<Link> links_;
    std::array<double, 2> budget_of_all_{};
    Clock::time_point refilled_;
    std::thread thread_;
};

}  // namespace cinnabar::support
