// SPDX-License-Identifier: BSD-3-Clause
// BusyTime: adds up the time within a window during which at least one operation was in flight. Times are in
// nanoseconds of one clock, and must be given in order. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cinnabar::tools::perf {

class BusyTime {
  public:
    BusyTime(std::uint64_t from_ns, std::uint64_t to_ns) noexcept : from_ns_(from_ns), to_ns_(to_ns) {}

    void begin(std::uint64_t now_ns) noexcept {
        if (in_flight_++ == 0) since_ns_ = now_ns;
    }
    // Requires: an operation is in flight.
    void end(std::uint64_t now_ns) noexcept {
        if (--in_flight_ != 0) return;
        const std::uint64_t begun_ns = std::clamp(since_ns_, from_ns_, to_ns_);
        busy_ns_ += std::clamp(now_ns, begun_ns, to_ns_) - begun_ns;
    }
    // Of the operations that have ended.
    [[nodiscard]] std::uint64_t busy_ns() const noexcept { return busy_ns_; }

  private:
    const std::uint64_t from_ns_;
    const std::uint64_t to_ns_;
    std::uint64_t since_ns_ = 0;
    std::uint64_t busy_ns_ = 0;
    std::uint32_t in_flight_ = 0;
};

}  // namespace cinnabar::tools::perf
