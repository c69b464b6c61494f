// SPDX-License-Identifier: BSD-3-Clause
// Divides the time on the wire between a request and its answer, although the clocks of the two sides differ.
// OneWayDelay assumes that the fastest messages of the last seconds took the same time in both directions; so a
// difference that is measured between the directions is the difference of the clocks. A peer that reports wrong times
// only moves the time of its own calls from one direction to the other.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cinnabar::rpc {

class OneWayDelay {
  public:
    // Clocks drift apart by some microseconds per second, so a message counts for two to four seconds.
    static constexpr TimeUs window_us = 2'000'000;

    // `sent` and `received` are times of this side, `came` and `answered` of the other side. Returns how long the
    // request was on its way; 0 to about 71 minutes.
    [[nodiscard]] std::uint32_t there_us(TimeUs sent, TimeUs came, TimeUs answered, TimeUs received) noexcept {
        // Unsigned differences, which may wrap around, because a peer may claim any time.
        const std::uint64_t there = came - sent;
        const std::uint64_t back = received - answered;
        if (tells_more(there, back, received)) learn(there, back, received);
        const std::uint64_t took = there - ahead_;
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        if (took > most) [[unlikely]]
            return static_cast<std::int64_t>(took) < 0 ? 0 : static_cast<std::uint32_t>(most);
        return static_cast<std::uint32_t>(took);
    }

    // The two steps of there_us(); `there` and `back` are differences between times of the two clocks. tells_more():
    // whether there_us() has to learn from this request and answer. ahead(): how far the other side's clock is ahead.
    [[nodiscard]] bool tells_more(TimeUs there, TimeUs back, TimeUs received) const noexcept {
        return received >= until_ || static_cast<std::int64_t>(there) < now_.there ||
               static_cast<std::int64_t>(back) < now_.back;
    }
    [[nodiscard]] TimeUs ahead() const noexcept { return ahead_; }

  private:
    struct Fastest {
        std::int64_t there = std::numeric_limits<std::int64_t>::max();
        std::int64_t back = std::numeric_limits<std::int64_t>::max();
    };

    void begin_window(TimeUs received) noexcept {
        before_ = received - until_ < window_us ? now_ : Fastest();
        now_ = Fastest();
        until_ = received + window_us;
    }
    [[gnu::noinline]] void learn(std::uint64_t there, std::uint64_t back, TimeUs received) noexcept {
        if (received >= until_) begin_window(received);
        now_.there = std::min(now_.there, static_cast<std::int64_t>(there));
        now_.back = std::min(now_.back, static_cast<std::int64_t>(back));
        const auto least_there = static_cast<std::uint64_t>(std::min(now_.there, before_.there));
        const auto least_back = static_cast<std::uint64_t>(std::min(now_.back, before_.back));
        ahead_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(least_there - least_back) / 2);
    }

    TimeUs until_ = 0;         // when the window of now_ ends
    std::uint64_t ahead_ = 0;  // how far the other side's clock is ahead; behind: the complement
    Fastest now_;
    Fastest before_;  // of the window before
};

}  // namespace cinnabar::rpc
