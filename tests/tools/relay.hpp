// SPDX-License-Identifier: BSD-3-Clause
// A relay on loopback TCP between a client and a server, whose connections break, stop or become slow at given points,
// as those of a bad cable.
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

namespace cinnabar::tools {

struct CableFault {
    enum class Kind : std::uint8_t {
        cut,            // all connections are reset
        unplug,         // the same, and for a while new ones are, too
        stall,          // for a while, nothing passes
        stall_and_cut,  // the same, and then all connections are reset
        slow,           // for a while, 2 KiB pass each millisecond
    };
    Kind kind = Kind::cut;
    std::uint64_t after = 0;  // happens when so many bytes have passed since the fault before it
    std::chrono::milliseconds lasts{0};
};

class Relay {
  public:
    // For a server at "tcp://127.0.0.1:PORT".
    explicit Relay(const std::string& server, std::vector<CableFault> faults = {});
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    // The address to which the client connects instead of the server's.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    // Resets all connections. Any thread.
    void cut();

  private:
    using Clock = std::chrono::steady_clock;
    struct Way {
        std::string pending;  // received, and not sent yet
        bool ended = false;
    };
    // `ends`: of the client and of the server. `ways`: from the client, and from the server.
    struct Link {
        std::array<UniqueFd, 2> ends;
        std::array<Way, 2> ways;
        bool lost = false;
    };
    void run();
    void move(Link& link, std::size_t way);
    void accept_one();
    void begin(const CableFault& fault);
    void reset_all();
    [[nodiscard]] int patience_ms(Clock::time_point now) const;
    [[nodiscard]] UniqueFd dial() const;

    const std::uint16_t port_;
    const std::vector<CableFault> faults_;
    std::string endpoint_;
    UniqueFd listener_;
    UniqueFd leave_;
    UniqueFd cut_;
    // The rest belongs to the thread.
    std::vector<Link> links_;
    std::size_t next_ = 0;     // of the faults
    std::uint64_t since_ = 0;  // bytes that have passed since the last fault
    Clock::time_point unplugged_until_{};
    Clock::time_point stalled_until_{};
    Clock::time_point slow_until_{};
    bool cut_later_ = false;
    std::thread thread_;
};

}  // namespace cinnabar::tools
