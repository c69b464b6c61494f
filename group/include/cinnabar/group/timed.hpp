// SPDX-License-Identifier: BSD-3-Clause
// Timed: a value with a time of a hybrid clock. Calls of a group carry times by themselves; a plain call (Node::call)
// carries one in each direction if its contract says so:
//
//     constexpr Rpc<Timed<Receipt>(Timed<Item>)> put{"store.put"};
//
//     node.serve(put, [&](const Timed<Item>& in) {
//         (void)hear(clock, in);                            // what is done from here on is later than the call
//         return timed(clock, store(in.value));
//     });
//     auto receipt = node.call(put, peer, timed(clock, item)).wait();
//     if (receipt) (void)hear(clock, *receipt);             // and this is later than what the handler did
//
// A Timed is a plain value.
#pragma once

#include <cinnabar/group/hybrid_clock.hpp>

#include <cstdint>
#include <utility>

namespace cinnabar::group {

template <typename T>
struct Timed {
    T value{};
    std::uint64_t time = 0;  // HybridTime::bits()
};

// The value with the clock's time, later than all times that the clock has returned or heard.
template <typename T>
[[nodiscard]] Timed<T> timed(HybridClock& clock, T value) {
    return {std::move(value), clock.now().bits()};
}

// Every time that the clock returns from now on is later than the value's. False: the value's time is too far ahead
// (ClockOptions::drift_max) and was ignored, so the order is not kept; a peer may send any time.
template <typename T>
[[nodiscard]] bool hear(HybridClock& clock, const Timed<T>& in) noexcept {
    return clock.hear(HybridTime(in.time));
}

}  // namespace cinnabar::group
