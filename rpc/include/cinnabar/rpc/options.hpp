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

    // The following limits are per context.
    // The maximum number of calls that were made and not released; a further call fails with `overloaded`. If calls_max
    // is more than three quarters of a transport's send slots, it is reduced to three quarters, in steps of 64, because
    // answers and grants need send slots as well.
    std::uint32_t calls_max = 65'536;
    // The maximum total size of the arguments of all calls that wait to be sent; a further call fails with
    // `overloaded`. The default has room for the arguments of one call of the largest size.
    std::size_t queued_bytes_max = (64u << 20) + 4096;
    // The maximum number of requests whose handlers have not ended. One peer may have at most as many requests as
    // remain free for others, so at most half, but always one. Further requests are answered `overloaded`.
    std::uint32_t requests_held_max = 16'384;
    // The maximum encoded size of one large argument or result: the default holds a value of 64 MiB and its encoding. A
    // larger value, and in any case one beyond 4 GiB, is `too_large`.
    std::uint64_t argument_bytes_max = (64u << 20) + 4096;
    // The maximum total size of all large arguments and results of a context; the default holds four of the largest.
    // The requests of one peer must leave at least as much free as they use, so they use at most half. Further requests
    // are answered `overloaded`. The same limit applies to the results that are being pulled from one peer, except for
    // the first of these results.
    std::uint64_t large_bytes_max = 4 * ((64u << 20) + 4096);
    // How many bytes of buffers of completed large arguments and results are kept for reuse. A single buffer larger
    // than this is not kept.
    std::uint64_t large_bytes_kept_max = 64u << 20;
    // How many bytes of large results a peer may leave unfetched. If a further large result is lent while the peer has
    // more than this unfetched, the peer gets no more credits until it has fetched enough. A single result may be
    // larger.
    std::uint64_t unfetched_bytes_max = 1u << 20;
    // The maximum total size of all decoded arguments in memory, not counting the first 16 KiB of each request. The
    // requests of one peer must leave at least as much free as they use, so they use at most half. Further requests are
    // answered `overloaded`. A request that needs more than half is `too_large`.
    std::uint64_t decoded_bytes_max = std::uint64_t{1} << 30;
    std::uint32_t lends_max = 65'536;       // leases of calls and of large results
    std::uint32_t eager_bytes_max = 2'048;  // lent read-only memory of at most this size travels in the descriptor;
                                            // 4,096 bytes at most if it lies in several segments

    // Adds a CRC-32C to the arguments and results that are sent in messages, for networks without checksums of their
    // own. A received checksum is always verified; if the checksum is wrong, the call fails with `bad_checksum`.
    bool checksums = false;

    // The maximum number of requests of one peer that are on their way to this side, or have their arguments in its
    // receive slots. A peer also gets no more credits while this many replies to it are unsent because the peer does
    // not read them.
    std::uint32_t credits_per_peer_max = 256;
    // How long a peer may take to return or use its unused credits after it was asked to return them, because other
    // peers need them. Then the peer is disconnected.
    Microseconds recall_answer_max{30'000'000};
    // The heartbeat interval; 0: no heartbeat. If calls wait for a peer, and the peer has sent nothing for one
    // interval, it is sent a ping. If the peer sends nothing for another interval after the ping, it counts as lost.
    // Detecting a loss takes up to three intervals in all. Handlers on pools and in coroutines do not delay the answer
    // to a ping; a handler that holds its context for longer than the interval does.
    Microseconds heartbeat{0};
    // A pull of large arguments or results ends with `timed_out` if nothing arrives for stall_max, or if, after
    // stall_max, its average rate is below pull_rate_min bytes per second. A result that its origin does not fetch is
    // kept for result_kept_max after the reply was sent, plus the time that fetching the result at pull_rate_min takes;
    // then its call fails.
    Microseconds stall_max{10'000'000};
    std::uint64_t pull_rate_min = 1u << 20;
    Microseconds result_kept_max{60'000'000};
    Microseconds fence_grace{200'000};  // how long the target of an ended call may take to release lent memory
    // As fence_grace, for files and for device memory that was shown to a peer by a handle: a disk may hang, and a
    // handle cannot be revoked (decision 94). After this time the memory is in quarantine: a file until the copy from
    // or to it has ended, shown memory until the process ends.
    Microseconds shown_grace{30'000'000};
    // How long a closing context waits at most for one-way calls to reach their targets, for answers to be sent, and
    // for large results to be fetched. 0: it does not wait.
    Microseconds leave_max{1'000'000};
    // A handler that holds trigger() for longer than this is named in the log; 0: never. Accurate to some milliseconds.
    Microseconds handler_time_max{100'000};
    // The callers that may call each RPC (policy.hpp); null: any peer that can connect may call every RPC.
    std::shared_ptr<const Policy> policy = {};
};

}  // namespace cinnabar::rpc
