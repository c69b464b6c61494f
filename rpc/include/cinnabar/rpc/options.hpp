// SPDX-License-Identifier: BSD-3-Clause
// Every limit of the RPC layer, with its default. Memory grows with what is in flight, up to these.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

struct Options {
    na::ContextOptions context;
    bulk::MoverOptions bulk;

    // Per context.
    // Made and not released; then `overloaded`. At most three quarters of a transport's send slots, in steps of 64:
    // answers and grants need some as well.
    std::uint32_t calls_max = 65'536;
    std::size_t queued_bytes_max = 64u << 20;       // arguments of calls that wait for credits; then `overloaded`
    std::uint32_t requests_held_max = 16'384;       // requests whose handlers have not ended; then `overloaded`
    std::uint64_t argument_bytes_max = 64u << 20;   // one argument or result that goes by bulk; then `too_large`
    std::uint64_t overflow_bytes_max = 256u << 20;  // all of them together, arguments of one peer at most half of it;
                                                    // then `overloaded`
    std::uint32_t lends_max = 65'536;               // leases that calls hold
    std::uint32_t eager_bytes_max = 2'048;          // lent read-only memory up to this travels in the descriptor

    // Adds a CRC-32C to the arguments and results that are sent in messages, for networks that have none of their own.
    // What comes with one is checked always; a wrong one is `bad_checksum`.
    bool checksums = false;

    std::uint32_t credits_per_peer_max = 256;  // requests that one peer may have on its way or held here
    // A peer that calls wait on, and that leaves a ping of this age without a sound, counts as lost; 0: off. With the
    // silence before the ping that takes up to three times as long. What runs on pools and in coroutines does not
    // disturb it; a handler that holds its context for longer does.
    Microseconds heartbeat{0};
    Microseconds stall_max{10'000'000};      // large arguments of which nothing came for so long are `timed_out`
    Microseconds fence_grace{200'000};       // how long a lost lease is asked for before it is taken
    Microseconds handler_time_max{100'000};  // a callback that holds trigger() longer is named in the log; 0: never
};

}  // namespace cinnabar::rpc
