// SPDX-License-Identifier: BSD-3-Clause
// HybridClock: a hybrid logical clock (Kulkarni et al., 2014). Its times are close to the time of day, and if one event
// happened before another (in one process, or by messages between processes), the earlier event has the smaller time.
//
// A group's clock travels with its gossip and its calls. If two events do not depend on each other, the order of their
// times may be wrong, but only by the difference between the clocks of their hosts.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>

namespace cinnabar::group {

// A 64-bit number that can be stored and compared: the upper 52 bits are microseconds since 1970 (until the year 2112),
// the lower 12 bits count events within a microsecond.
class HybridTime {
  public:
    static constexpr unsigned logical_bits = 12;

    constexpr HybridTime() = default;
    constexpr explicit HybridTime(std::uint64_t bits) noexcept : bits_(bits) {}
    [[nodiscard]] static constexpr HybridTime at(std::uint64_t wall_us) noexcept {
        return HybridTime(wall_us << logical_bits);
    }

    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] constexpr std::uint64_t wall_us() const noexcept { return bits_ >> logical_bits; }
    [[nodiscard]] constexpr unsigned logical() const noexcept { return bits_ & ((1u << logical_bits) - 1); }
    friend constexpr auto operator<=>(const HybridTime&, const HybridTime&) = default;

  private:
    std::uint64_t bits_ = 0;  // 0: no time
};

struct ClockOptions {
    // How far a received time may be ahead of this host's clock; a time that is further ahead is refused. Set drift_max
    // to at least twice the difference of the hosts' clocks.
    Microseconds drift_max = std::chrono::milliseconds(1000);
    // Microseconds since 1970; any thread. Empty: the system's clock.
    std::function<std::uint64_t()> wall_us = {};
};

// Thread-safe, without a lock.
class CINNABAR_API HybridClock {
  public:
    explicit HybridClock(ClockOptions options);

    // Returns a time later than every time that this clock has returned or heard before. If the host's clock is set
    // back, the returned times advance in the smallest steps until the host's clock has caught up.
    [[nodiscard]] HybridTime now() noexcept;
    // Takes in a time that was received in a message: every time that now() returns from then on is later. False:
    // `time` is too far ahead and is ignored; otherwise one wrong clock would spoil all others.
    [[nodiscard]] bool hear(HybridTime time) noexcept;
    // How far a time is ahead of this host's clock; 0 if it is not.
    [[nodiscard]] Microseconds ahead(HybridTime time) const;

  private:
    [[nodiscard]] std::uint64_t wall() const;

    const ClockOptions options_;
    std::atomic<std::uint64_t> last_{0};
};

}  // namespace cinnabar::group
