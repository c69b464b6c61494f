// SPDX-License-Identifier: BSD-3-Clause
// The times of the calls on one connection that were timed and answered. Owner of the context only.
#pragma once

#include "one_way_delay.hpp"

#include <cinnabar/base/eight_sums.hpp>
#include <cinnabar/rpc/peer_times.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

class TimedCalls {
  public:
    OneWayDelay ways;

    void count(const CallParts& parts, TimeUs whole) noexcept { times_.count(parts, whole); }
    // Does the same as count() in fewer instructions. Requires: the upper half of the last word is the whole time, and
    // its lower half, the time for the caller, is 0, because the answer has just come.
    [[gnu::always_inline]] void count_usual(const UsualParts& parts) noexcept {
        see_eight_buckets<PeerTimes::bits, 8>(
            parts, [&](auto index, std::size_t bucket) __attribute__((always_inline)) {
                constexpr std::size_t part = usual_parts_begin + decltype(index)::value;
                if constexpr (part != static_cast<std::size_t>(CallPart::for_caller)) ++times_.counts[part][bucket];
            });
        usual_.add(parts);
    }

    [[nodiscard]] std::uint32_t calls() const noexcept {
        return times_.calls + static_cast<std::uint32_t>(usual_.times());
    }
    // `index`: as in PeerTimes::quantile_us.
    [[nodiscard]] TimeUs sum_us(std::size_t index) const noexcept {
        return times_.sums_us[index] + (index < usual_parts_begin ? 0 : usual_.sum(index - usual_parts_begin));
    }
    [[nodiscard]] TimeUs quantile_us(double fraction) const noexcept {
        return times_.quantile_us(PeerTimes::whole, fraction);
    }
    [[nodiscard]] PeerTimes read() const noexcept;

  private:
    static_assert(usual_parts_begin + 7 == PeerTimes::whole);
    static_assert(eight_buckets_end == TimeUs{1} << usual_time_bits);

    PeerTimes times_;  // `calls`, the sums, and the counts of parts that are always 0: without those of count_usual()
    EightSums usual_;
};

}  // namespace cinnabar::rpc
