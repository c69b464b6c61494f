// SPDX-License-Identifier: BSD-3-Clause
// All limits of the RPC layer, with their defaults. Memory grows with what is in flight, up to these limits.
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
    // Calls that were made and not released; beyond that, `overloaded`. At most three quarters of a transport's send
    // slots, in steps of 64, because answers and grants need send slots as well.
    std::uint32_t calls_max = 65'536;
    // The arguments of all calls that wait to be sent. The default has room for one of the largest size. Beyond that,
    // `overloaded`.
    std::size_t queued_bytes_max = (64u << 20) + 4096;
    // Requests whose handlers have not ended. Each peer may hold as many as are left free, so at most half of them, but
    // always one; beyond that, `overloaded`.
    std::uint32_t requests_held_max = 16'384;
    // The encoded size of one large argument or result: the default holds a value of 64 MiB and its encoding. Beyond
    // that, and beyond 4 GiB in any case, `too_large`.
    std::uint64_t argument_bytes_max = (64u << 20) + 4096;
    // The large arguments and results of a context together; the default holds four. The requests of one peer may use
    // as much as is left free, so at most half; beyond that, `overloaded`. The same limit applies to the results that
    // are being pulled from one peer, except for the first of them.
    std::uint64_t large_bytes_max = 4 * ((64u << 20) + 4096);
    // Memory of completed large arguments and results that is kept for reuse. A single buffer larger than this is not
    // kept.
    std::uint64_t large_bytes_kept_max = 64u << 20;
    // A peer that leaves more than this many bytes of large results unfetched gets no more credits until it has fetched
    // them. A single result may be larger.
    std::uint64_t unfetched_bytes_max = 1u << 20;
    // Memory of all decoded arguments, not counting the first 16 KiB of each. The requests of one peer may use as much
    // as is left free, so at most half; beyond that, `overloaded`. A request that needs more than half is `too_large`.
    std::uint64_t decoded_bytes_max = std::uint64_t{1} << 30;
    std::uint32_t lends_max = 65'536;       // leases of calls and of large results
    std::uint32_t eager_bytes_max = 2'048;  // lent read-only memory of at most this size travels in the descriptor;
                                            // 4,096 bytes at most if it lies in several segments

    // Adds a CRC-32C to the arguments and results that are sent in messages, for networks without checksums of their
    // own. A received checksum is always verified; a wrong one gives `bad_checksum`.
    bool checksums = false;

    // Requests of one peer that may be on their way, or have their arguments in receive slots here. A peer gets no more
    // credits while this many replies to it have not been sent because it does not read them.
    std::uint32_t credits_per_peer_max = 256;
    // If a peer was asked to return unused credits, because others need them, and has not done so for this long, it is
    // disconnected.
    Microseconds recall_answer_max{30'000'000};
    // Heartbeat; 0: off. A peer that calls wait for, and that has been silent for this long, is sent a ping. If it
    // sends nothing for this long after the ping either, it counts as lost, which takes up to three times this value in
    // all. Handlers on pools and in coroutines do not delay the answer to a ping; a handler that holds its context for
    // longer does.
    Microseconds heartbeat{0};
    // A pull of large arguments or results ends with `timed_out` if nothing arrives for stall_max, or if, after
    // stall_max, its average rate is below pull_rate_min bytes per second. A result that its origin does not fetch is
    // kept for result_kept_max after the reply was sent, plus the time that fetching it at that rate takes; then its
    // call fails.
    Microseconds stall_max{10'000'000};
    std::uint64_t pull_rate_min = 1u << 20;
    Microseconds result_kept_max{60'000'000};
    Microseconds fence_grace{200'000};  // how long the target of an ended call may take to release lent memory
    // The same for files and device memory: a disk may hang, and a handle that was shown to a peer cannot be revoked
    // (decision 94). After this time the memory is in quarantine: a file until the copy has ended, shown memory until
    // the process ends.
    Microseconds shown_grace{30'000'000};
    // How long a closing context waits until one-way calls have reached their targets, answers were sent, and large
    // results were fetched. 0: does not wait.
    Microseconds leave_max{1'000'000};
    // A handler that holds trigger() for longer than this is named in the log; 0: never. Accurate to some milliseconds.
    Microseconds handler_time_max{100'000};
    // The callers that may call each RPC (policy.hpp); null: any peer that can connect may call every RPC.
    std::shared_ptr<const Policy> policy = {};
};

}  // namespace cinnabar::rpc
