// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a call goes (decisions 0081 and 0115). All times are in microseconds.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/smaller.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

// What a target reports of a request, by its own clock. The first three are about 71 minutes at most.
struct TargetTimes {
    std::uint32_t waited_us = 0;     // until its handler began, or it was answered without one
    std::uint32_t handled_us = 0;    // from then until the answer was written
    std::uint32_t transfers_us = 0;  // the part of handled_us in which transfers of the request were in progress
    TimeUs came_us = 0;              // when it arrived, counted from when the connection was made
};

// What the origin knows of an answered call. The first four are on the clock of its context.
struct CallTimes {
    TimeUs made = 0;
    TimeUs left = 0;
    TimeUs answered = 0;
    TimeUs told = 0;                  // when its callback ran
    std::uint32_t connecting_us = 0;  // the part of the time until `left` that it waited for a connection
    std::uint32_t for_credit_us = 0;  // the part of the time until `left` that it waited for a credit
    std::uint32_t there_us = 0;       // the part of the time on the wire that the request took
    std::uint32_t waited_us = 0;      // this and the next two: reported by the target (TargetTimes)
    std::uint32_t handled_us = 0;
    std::uint32_t transfers_us = 0;
};

namespace detail {

// Two times of 32 bits in one word: a call has no room for more.
[[nodiscard]] constexpr TimeUs two_times(std::uint32_t upper, std::uint32_t lower) noexcept {
    return TimeUs{upper} << 32 | lower;
}
[[nodiscard]] constexpr std::uint32_t upper_time(TimeUs word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
}
[[nodiscard]] constexpr std::uint32_t lower_time(TimeUs word) noexcept { return static_cast<std::uint32_t>(word); }

// A longer time counts as the longest that fits.
[[nodiscard]] constexpr std::uint32_t short_time(TimeUs time) noexcept {
    return static_cast<std::uint32_t>(smaller_of(time, TimeUs{~std::uint32_t{0}}));
}

}  // namespace detail

// The parts of a call's time. They add up to the whole.
enum class CallPart : std::uint8_t {
    connecting,    // from creation until its connection was made
    for_credit,    // waiting for a credit
    queued,        // until it left this node: waiting for the owner of the context, a reply slot, or room to send
    wire_there,    // until it arrived at the target; rpc/src/one_way_delay.hpp tells this from the way back
    for_handler,   // at the target, until its handler started, with the transfer of large arguments
    in_handler,    // at the target, until the answer was written, while it had no transfer in progress
    in_transfers,  // the same, while it had a transfer in progress
    wire_back,     // until the answer arrived, with the transfer of a large result
    for_caller,    // at the caller, from the arrival of the answer to the callback
};
inline constexpr std::size_t call_parts = static_cast<std::size_t>(CallPart::for_caller) + 1;
// For example "waiting for a credit" or "on the wire there"; static storage.
[[nodiscard]] CINNABAR_API std::string_view to_string(CallPart part) noexcept;

using CallParts = std::array<TimeUs, call_parts>;  // indexed by CallPart

// The parts of a call that found its connection made and a credit available, as most calls do, and took less than 2^24
// us. The parts before `queued` are zero, and left out. The other seven take 32 bits each, two to a word, the earlier
// one in the lower half; the last half word is zero.
using UsualParts = std::array<TimeUs, 4>;
inline constexpr std::size_t usual_parts_begin = static_cast<std::size_t>(CallPart::queued);
inline constexpr unsigned usual_time_bits = 24;

// The time from when the call was made until its callback ran, which is the sum of its parts.
[[nodiscard]] constexpr TimeUs whole_of(const CallTimes& times) noexcept {
    return larger_of(times.told, times.made) - times.made;
}

namespace detail {

// As parts_of(), for times that contradict each other.
[[nodiscard]] CINNABAR_API CallParts cut_parts_of(const CallTimes& times) noexcept;

}  // namespace detail

// Divides the time of a call into its parts. If the target reports, or this side has recorded, more time than there
// was, the excess is ignored.
[[nodiscard]] inline CallParts parts_of(const CallTimes& times) noexcept {
    const TimeUs queued = times.left - times.made - times.connecting_us - times.for_credit_us;
    const TimeUs in_handler = TimeUs{times.handled_us} - times.transfers_us;
    const TimeUs back = times.answered - times.left - times.waited_us - times.handled_us - times.there_us;
    const TimeUs for_caller = times.told - times.answered;
    // The differences are unsigned, so one that is below zero is a very large number. If no difference is that large,
    // the parts add up to the whole without an overflow, and no part has to be cut.
    if (times.told < times.made || ((queued | in_handler | back | for_caller) >> 61) != 0) [[unlikely]]
        return detail::cut_parts_of(times);
    return {times.connecting_us, times.for_credit_us, queued, times.there_us, times.waited_us,
            in_handler,          times.transfers_us,  back,   for_caller};
}

}  // namespace cinnabar::rpc
