// SPDX-License-Identifier: BSD-3-Clause
// Every limit of the RPC layer, with its default. Memory grows with what is in flight, up to these.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar::rpc {

class Policy;

struct Options {
    na::ContextOptions context;
    bulk::MoverOptions bulk;

    // Per context.
    // Made and not released; then `overloaded`. At most three quarters of a transport's send slots, in steps of 64:
    // answers and grants need some as well.
    std::uint32_t calls_max = 65'536;
    // Arguments of calls that wait for credits; one of the largest may. Then `overloaded`.
    std::size_t queued_bytes_max = (64u << 20) + 4096;
    // Requests whose handlers have not ended. A peer has at most as many as all of them leave free, half of it alone;
    // then `overloaded`.
    std::uint32_t requests_held_max = 16'384;
    // One argument or result that goes by bulk, encoded: a value of 64 MiB, and what its encoding adds. Then
    // `too_large`.
    std::uint64_t argument_bytes_max = (64u << 20) + 4096;
    // All of them together: room for four. The requests of one peer have at most as much as they leave free, that is
    // half of it where nobody else has any; then `overloaded`. So have results that are on their way from one peer, but
    // for the first of them.
    std::uint64_t overflow_bytes_max = 4 * ((64u << 20) + 4096);
    // How much memory of completed large arguments and results is kept for reuse; a single larger buffer is not kept.
    std::uint64_t overflow_kept_max = 64u << 20;
    // A peer that leaves more than this many bytes of large results unfetched gets no more credits until it has fetched
    // them. A single result may be larger.
    std::uint64_t unfetched_bytes_max = 1u << 20;
    // What all arguments here are decoded to, beyond 16 KiB each. The requests of one peer have at most as much as they
    // leave free, half of it alone; then `overloaded`. One that needs more than half is `too_large`.
    std::uint64_t decoded_bytes_max = std::uint64_t{1} << 30;
    std::uint32_t lends_max = 65'536;       // leases that calls hold
    std::uint32_t eager_bytes_max = 2'048;  // lent read-only memory up to this travels in the descriptor; of
                                            // what lies in several segments at most 4,096 bytes do

    // Adds a CRC-32C to the arguments and results that are sent in messages, for networks that have none of their own.
    // What comes with one is checked always; a wrong one is `bad_checksum`.
    bool checksums = false;

    // Requests that one peer may have on their way or with their arguments in receive slots here. While as many replies
    // to it have not left, because it does not read them, it may send no more.
    std::uint32_t credits_per_peer_max = 256;
    // A peer that was asked to return credits that it does not use, because others want them, and has not for so long
    // is disconnected.
    Microseconds recall_answer_max{30'000'000};
    // A peer that calls wait on, and that leaves a ping of this age without a sound, counts as lost; 0: off. With the
    // silence before the ping that takes up to three times as long. What runs on pools and in coroutines does not
    // disturb it; a handler that holds its context for longer does.
    Microseconds heartbeat{0};
    // Large arguments, and large results, of which nothing came for stall_max, or after that less than pull_rate_min
    // bytes a second on the whole, are `timed_out`. A result that its origin does not fetch is kept for result_kept_max
    // after the reply has left, and as long as it takes at that rate; its call fails then.
    Microseconds stall_max{10'000'000};
    std::uint64_t pull_rate_min = 1u << 20;
    Microseconds result_kept_max{60'000'000};
    Microseconds fence_grace{200'000};  // how long a lost lease is asked for before it is taken
    // How long a context that closes waits for what it has accepted: one-way calls until their targets have them,
    // answers until they have left and what is large was fetched. 0: not at all.
    Microseconds leave_max{1'000'000};
    // A callback that holds trigger() longer is named in the log; 0: never. Measured to some milliseconds.
    Microseconds handler_time_max{100'000};
    // Who may call what (policy.hpp); null: everybody who can connect may call everything.
    std::shared_ptr<const Policy> policy = {};
};

}  // namespace cinnabar::rpc
