// SPDX-License-Identifier: BSD-3-Clause
// What may be said about one call besides its arguments. Values.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <optional>
#include <stop_token>
#include <type_traits>

namespace cinnabar::hl {

inline constexpr Microseconds default_deadline{30'000'000};
// Must be said: a call without it ends at the latest after default_deadline.
inline constexpr Microseconds no_deadline = Microseconds::max();

// Stays without a destructor: g++ 12 destroys such temporaries twice when they are written in braces inside co_await.
struct CallOptions {
    // From the moment it is sent: covers queueing, connecting, transfer, the handler and the reply. Unset: that of the
    // task around it (in a handler: what the caller gave), or default_deadline. In a task the earlier one holds.
    std::optional<Microseconds> deadline = {};
    const std::stop_token* stop = nullptr;  // besides that of the task around it; copied when the call is made
    rpc::ProviderId provider = 0;           // which of several services of one kind
    std::optional<unsigned> context = {};   // of this node; unset: the one whose loop runs here, or the first
};
static_assert(std::is_trivially_destructible_v<CallOptions>);

}  // namespace cinnabar::hl
