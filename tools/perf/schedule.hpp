// SPDX-License-Identifier: BSD-3-Clause
// The planned start times of calls in an open loop, independent of the server's behaviour.
#pragma once

#include <cinnabar/base/random.hpp>

#include <cstdint>

namespace cinnabar::tools::perf {

enum class Arrivals : std::uint8_t {
    even,     // one every 1 / rate
    poisson,  // independent of each other, like requests of many users
};

class Schedule {
  public:
    // `rate` calls per second, starting at `begin_ns`. Requires: rate > 0.
    Schedule(double rate, Arrivals arrivals, std::uint64_t begin_ns, std::uint64_t seed) noexcept;

    // The planned start of the next call, in nanoseconds on the clock of `begin_ns`.
    [[nodiscard]] std::uint64_t next_ns() const noexcept { return begin_ns_ + static_cast<std::uint64_t>(offset_ns_); }
    // Moves on to the next call.
    void advance() noexcept;

  private:
    double gap_ns_;
    Arrivals arrivals_;
    std::uint64_t begin_ns_;
    std::uint64_t number_ = 0;
    double offset_ns_ = 0;
    Random random_;
};

}  // namespace cinnabar::tools::perf
