// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/timer_wheel.hpp>

#include <algorithm>
#include <bit>

namespace cinnabar {

void TimerWheel::insert(WheelTimer& timer) noexcept {
    const TimeUs due = std::max(timer.expires, now_);
    const TimeUs differing = due ^ now_;
    const unsigned level = differing ? (63u - static_cast<unsigned>(std::countl_zero(differing))) / digit_bits : 0;
    const unsigned digit = static_cast<unsigned>(due >> (level * digit_bits)) & 63u;
    timer.level = static_cast<std::uint8_t>(level);
    timer.digit = static_cast<std::uint8_t>(digit);
    lists_[level][digit].push_back(timer);
    used_[level] |= std::uint64_t{1} << digit;
}

TimeUs TimerWheel::slot_start(unsigned level, unsigned digit) const noexcept {
    const unsigned shift = level * digit_bits;
    const TimeUs digit_and_below = level + 1 < levels ? (TimeUs{1} << (shift + digit_bits)) - 1 : ~TimeUs{0};
    return (now_ & ~digit_and_below) | TimeUs{digit} << shift;
}

void TimerWheel::arm(WheelTimer& timer, TimeUs expires) noexcept {
    CINNABAR_ASSERT(!timer.armed());
    timer.expires = expires;
    if (expires == time_never) return;
    ++armed_;
    due_ = std::min(due_, std::max(expires, now_));
    if (!advancing_ || expires > now_) return insert(timer);
    timer.level = levels;
    late_.push_back(timer);
}

void TimerWheel::disarm(WheelTimer& timer) noexcept {
    if (!timer.armed()) return;
    if (--armed_ == 0) due_ = time_never;
    if (timer.level == levels) return late_.remove(timer);
    List& list = lists_[timer.level][timer.digit];
    list.remove(timer);
    if (list.empty()) used_[timer.level] &= ~(std::uint64_t{1} << timer.digit);
}

TimeUs TimerWheel::first_slot() const noexcept {
    for (unsigned level = 0; level < levels; ++level) {
        if (used_[level]) return slot_start(level, static_cast<unsigned>(std::countr_zero(used_[level])));
    }
    return time_never;
}

unsigned TimerWheel::fire_until(TimeUs now) noexcept {
    unsigned fired = 0;
    advancing_ = true;
    while (armed_ != 0) {
        unsigned level = 0;
        while (level < levels && !used_[level]) ++level;
        if (level == levels) break;
        const auto digit = static_cast<unsigned>(std::countr_zero(used_[level]));
        const TimeUs start = slot_start(level, digit);
        if (start > now) break;
        now_ = std::max(now_, start);
        List& list = lists_[level][digit];
        if (level == 0) {
            WheelTimer* timer = list.pop_front();
            if (list.empty()) used_[0] &= ~(std::uint64_t{1} << digit);
            --armed_;
            ++fired;
            timer->fire(*timer);
            continue;
        }
        used_[level] &= ~(std::uint64_t{1} << digit);
        List moved;
        moved.splice_back(list);
        while (WheelTimer* timer = moved.pop_front()) insert(*timer);
    }
    advancing_ = false;
    now_ = std::max(now_, now);
    while (WheelTimer* timer = late_.pop_front()) insert(*timer);
    due_ = first_slot();
    return fired;
}

}  // namespace cinnabar
