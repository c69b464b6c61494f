// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/times.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace cinnabar::rpc {

std::string_view to_string(CallPart part) noexcept {
    constexpr std::array<std::string_view, call_parts> words{
        "connecting",        "waiting for a credit",    "waiting to be sent",
        "on the wire there", "waiting for the handler", "in the handler",
        "in its transfers",  "on the wire back",        "waiting for the caller"};
    return words[static_cast<std::size_t>(part)];
}

namespace detail {

CallParts cut_parts_of(const CallTimes& times) noexcept {
    const TimeUs told = std::max(times.told, times.made);
    const TimeUs left = std::min(std::max(times.left, times.made), told);
    const TimeUs answered = std::min(std::max(times.answered, left), told);
    const TimeUs here = left - times.made;
    const TimeUs connecting = std::min<TimeUs>(times.connecting_us, here);
    const TimeUs for_credit = std::min<TimeUs>(times.for_credit_us, here - connecting);
    const TimeUs between = answered - left;
    const TimeUs waited = std::min<TimeUs>(times.waited_us, between);
    const TimeUs handled = std::min<TimeUs>(times.handled_us, between - waited);
    const TimeUs transfers = std::min<TimeUs>(times.transfers_us, handled);
    const TimeUs wire = between - waited - handled;
    const TimeUs there = std::min<TimeUs>(times.there_us, wire);
    return {connecting,   for_credit,     here - connecting - for_credit, there, waited, handled - transfers, transfers,
            wire - there, told - answered};
}

}  // namespace detail

}  // namespace cinnabar::rpc
