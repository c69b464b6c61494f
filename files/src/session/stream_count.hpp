// SPDX-License-Identifier: BSD-3-Clause
// Finds out by measuring how many connections fill the network path of a session. Begins with one connection and
// measures the rate; then asks for twice as many, and measures again. If the rate has grown by more than a quarter,
// doubles the number again; otherwise halves it, and stops. Belongs to the loop.
#pragma once

#include <chrono>
#include <cstdint>

namespace cinnabar::files {

class StreamCount {
  public:
    using Clock = std::chrono::steady_clock;
    // A rate is measured for at least the time `measured` and `windows_measured` windows. The first `windows_before`
    // windows are not counted, because they were on their way already, or a new connection was still getting up to
    // speed.
    static constexpr std::chrono::seconds measured{1};
    static constexpr std::uint32_t windows_measured = 32;
    static constexpr std::uint32_t windows_before = 24;
    static constexpr double growth_min = 1.25;

    explicit StreamCount(unsigned most) noexcept : most_(most) {}

    [[nodiscard]] unsigned wanted() const noexcept { return wanted_; }
    // Whether wanted() may still change.
    [[nodiscard]] bool measures() const noexcept { return measures_; }
    // Call for each window that has been moved. True: wanted() has changed. If wanted() has grown, no rate is measured
    // until begin() or settle() is called.
    [[nodiscard]] bool moved(std::uint64_t bytes, Clock::time_point now) noexcept;
    // Call when there are wanted() connections: starts a measurement.
    void begin() noexcept;
    // Call when no window is being moved: the measurement starts again with the next window.
    void pause() noexcept;
    // Sets wanted() to `connections` and ends measuring, for example because no more connections can be added.
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
