// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a call goes (decision 0081).
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

// How long a target had a request, as the target itself reports; about 71 minutes at most.
struct TargetTimes {
    std::uint32_t waited_us = 0;   // until its handler began, or it was answered without one
    std::uint32_t handled_us = 0;  // from then until the answer was written
};

// The parts of a call's time, in order. They add up to the whole.
enum class CallPart : std::uint8_t {
    leaving,      // from creation until it left this node: waits for connection, credit, reply slot, room to send
    on_the_wire,  // there and back: the clocks of two hosts cannot tell these apart
    for_handler,  // at the target, until its handler started
    in_handler,   // at the target, until the answer was written, including transfers
    for_caller,   // at the caller, from the arrival of the answer to the callback
};
inline constexpr std::size_t call_parts = static_cast<std::size_t>(CallPart::for_caller) + 1;
// For example "leaving" or "on the wire"; static storage.
[[nodiscard]] CINNABAR_API std::string_view to_string(CallPart part) noexcept;

using CallParts = std::array<TimeUs, call_parts>;  // indexed by CallPart
// For a call that was made, left, was answered and reached its callback at these times of this node's clock. If the
// target claims more time than there was, the excess is ignored.
[[nodiscard]] constexpr CallParts parts_of(TimeUs made, TimeUs left, TimeUs answered, TimeUs told,
                                           const TargetTimes& target) noexcept {
    told = std::max(told, made);
    left = std::min(std::max(left, made), told);
    answered = std::min(std::max(answered, left), told);
    const TimeUs between = answered - left;
    const TimeUs waited = std::min<TimeUs>(target.waited_us, between);
    const TimeUs handled = std::min<TimeUs>(target.handled_us, between - waited);
    return {left - made, between - waited - handled, waited, handled, told - answered};
}

}  // namespace cinnabar::rpc
