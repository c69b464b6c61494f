// SPDX-License-Identifier: BSD-3-Clause
#include "timed_calls.hpp"

namespace cinnabar::rpc {

PeerTimes TimedCalls::read() const noexcept {
    PeerTimes times = times_;
    times.calls = calls();
    for (std::size_t index = 0; index < times.sums_us.size(); ++index) times.sums_us[index] = sum_us(index);
    for (const CallPart part : {CallPart::connecting, CallPart::for_credit, CallPart::for_caller})
        times.counts[static_cast<std::size_t>(part)][0] += static_cast<std::uint32_t>(usual_.times());
    return times;
}

}  // namespace cinnabar::rpc
