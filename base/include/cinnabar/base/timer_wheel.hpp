// SPDX-License-Identifier: BSD-3-Clause
// Timers in microseconds: arm and disarm in constant time, no allocation. The timer belongs to the caller and stays put
// while armed. Not thread-safe: the owner of the context uses it.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>

#include <array>
#include <cstdint>

namespace cinnabar {

struct Timer {
    ListLink<Timer> link;
    TimeUs expires = 0;
    std::uint8_t level = 0;  // where the wheel put it
    std::uint8_t digit = 0;
    // Runs once, disarmed; may arm the same timer or any other.
    void (*fire)(Timer& self) noexcept = nullptr;
    void* user = nullptr;  // the maker's own

    [[nodiscard]] bool armed() const noexcept { return link.linked; }
};

// A radix wheel: 11 levels of 64 lists, one for each base-64 digit of a time. A timer stands on the level of the
// highest base-64 digit in which its expiry differs from the wheel's time, so the lowest level that is not empty holds
// the earliest one.
class TimerWheel {
  public:
    explicit TimerWheel(TimeUs now) noexcept : now_(now) {}

    // Requires: not armed. An expiry in the past fires at the next advance, also when a timer that fires arms it;
    // time_never is never.
    CINNABAR_API void arm(Timer& timer, TimeUs expires) noexcept;
    // Nothing happens when it is not armed.
    CINNABAR_API void disarm(Timer& timer) noexcept;
    // Fires everything that expires at or before `now`; returns how many. Time never goes back.
    unsigned advance(TimeUs now) noexcept { return now < due_ ? 0 : fire_until(now); }
    // A time at or before the next expiry, at which advance() should be called; time_never when nothing is armed.
    [[nodiscard]] TimeUs next() const noexcept { return due_; }
    [[nodiscard]] std::uint32_t armed() const noexcept { return armed_; }

  private:
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned levels = 11;
    using List = IntrusiveList<Timer, &Timer::link>;

    CINNABAR_API unsigned fire_until(TimeUs now) noexcept;
    void place(Timer& timer) noexcept;
    [[nodiscard]] TimeUs first_slot() const noexcept;
    [[nodiscard]] TimeUs slot_start(unsigned level, unsigned digit) const noexcept;

    TimeUs now_;
    TimeUs due_ = time_never;  // nothing is to be done earlier
    std::uint32_t armed_ = 0;
    std::array<std::uint64_t, levels> used_{};
    std::array<std::array<List, 64>, levels> lists_;
    // Armed for the past or the present by a timer that fired: these wait for the end of advance(), which would never
    // come if they fired in it and did so again. Their level is `levels`.
    List late_;
    bool advancing_ = false;
};

}  // namespace cinnabar
