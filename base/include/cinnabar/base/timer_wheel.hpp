// SPDX-License-Identifier: BSD-3-Clause
// TimerWheel: timers in microseconds. Arming and disarming take constant time and allocate nothing. A WheelTimer
// belongs to the caller and must not move while armed. Not thread-safe: used by the owner of the context.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>

#include <array>
#include <cstdint>

namespace cinnabar {

struct WheelTimer {
    ListLink<WheelTimer> link;
    TimeUs expires = 0;
    std::uint8_t level = 0;  // set by the wheel
    std::uint8_t digit = 0;
    // Runs once, after the timer was disarmed; may arm this timer or any other.
    void (*fire)(WheelTimer& self) noexcept = nullptr;
    void* user = nullptr;  // free for the creator

    [[nodiscard]] bool armed() const noexcept { return link.linked; }
};

// A radix wheel: 11 levels of 64 lists, one level for each base-64 digit of a time. A timer is on the level of the
// highest digit in which the timer's expiry differs from the wheel's time, so the lowest non-empty level holds the
// earliest timer.
class TimerWheel {
  public:
    explicit TimerWheel(TimeUs now) noexcept : now_(now) {}

    // Arms a timer. Requires: not armed. A timer whose expiry has passed fires in the next advance(), never in an
    // advance() that is running. A timer with time_never never fires.
    CINNABAR_API void arm(WheelTimer& timer, TimeUs expires) noexcept;
    // Does nothing if the timer is not armed.
    CINNABAR_API void disarm(WheelTimer& timer) noexcept;
    // Fires all timers that expire at or before `now`, and returns how many fired. Does nothing if `now` is before the
    // wheel's time.
    unsigned advance(TimeUs now) noexcept { return now < due_ ? 0 : fire_until(now); }
    // When to call advance() next: a time at or before the next expiry; time_never if nothing is armed.
    [[nodiscard]] TimeUs next() const noexcept { return due_; }
    [[nodiscard]] std::uint32_t armed() const noexcept { return armed_; }

  private:
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned levels = 11;
    using List = IntrusiveList<WheelTimer, &WheelTimer::link>;

    CINNABAR_API unsigned fire_until(TimeUs now) noexcept;
    void insert(WheelTimer& timer) noexcept;
    [[nodiscard]] TimeUs first_slot() const noexcept;
    [[nodiscard]] TimeUs slot_start(unsigned level, unsigned digit) const noexcept;

    TimeUs now_;
    TimeUs due_ = time_never;  // the next time at which there is something to do
    std::uint32_t armed_ = 0;
    std::array<std::uint64_t, levels> used_{};
    std::array<std::array<List, 64>, levels> lists_;
    // Timers that a firing timer has armed and that expire at once. Such timers wait for the next advance(): if they
    // fired in the current advance() and armed themselves again, it would never return. The level of such timers is
    // `levels`.
    List late_;
    bool advancing_ = false;
};

}  // namespace cinnabar
