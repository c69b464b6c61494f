// SPDX-License-Identifier: BSD-3-Clause
// Finds out by measuring how many connections fill the path of a session. It begins with one and measures the rate;
// then it asks for twice as many, and measures again. If the rate has grown by more than a quarter, it goes on;
// otherwise it goes back, and the number stays. Belongs to the loop.
#pragma once

#include <chrono>
#include <cstdint>

namespace cinnabar::files {

class StreamCount {
  public:
    using Clock = std::chrono::steady_clock;
    // A rate is measured over at least this time and this many windows. The windows before are not counted: they were
    // on their way already, or show how fast a new connection starts.
    static constexpr std::chrono::seconds measured{1};
    static constexpr std::uint32_t windows_measured = 32;
    static constexpr std::uint32_t windows_before = 24;
    static constexpr double growth_min = 1.25;

    explicit StreamCount(unsigned most) noexcept : most_(most) {}

    [[nodiscard]] unsigned wanted() const noexcept { return wanted_; }
    // Whether more may be wanted later.
    [[nodiscard]] bool measures() const noexcept { return measures_; }
    // Call for each window that has been moved. True: wanted() has changed. If it has grown, measuring goes on at
    // begin() or ends at settle().
    [[nodiscard]] bool moved(std::uint64_t bytes, Clock::time_point now) noexcept;
    // As many connections as wanted are there: measuring begins.
    void begin() noexcept;
    // Nothing is being moved: measuring begins anew with what comes then.
    void pause() noexcept;
    // No more connections can be had than these.
    void settle(unsigned connections) noexcept;

  private:
    unsigned most_;
    unsigned wanted_ = 1;
    bool measures_ = true;
    bool waits_ = false;  // for begin() or settle()
    double rate_before_ = 0;
    std::uint32_t windows_ = 0;
    std::uint64_t bytes_ = 0;
    Clock::time_point begun_;
};

}  // namespace cinnabar::files
