// SPDX-License-Identifier: BSD-3-Clause
// Snapshots of a running context, for people to read: its peers, the calls that this side has in progress, and the
// requests of its peers. Taken by Context::look_at_*; any thread. Each of these functions owns the context while it
// fills one page, and does not allocate.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/rpc_id.hpp>
#include <cinnabar/rpc/times.hpp>

#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

// Where a call or a request is at the moment.
enum class CallPhase : std::uint8_t {
    unknown,
    connecting,            // the connection is being made, or made again
    waits_for_credit,      // the target allows no further request at the moment
    waits_for_reply_slot,  // too many answers are outstanding here
    waits_for_room,        // the transport has no room
    sending,               // the transport has accepted it, and not sent it yet
    sent,                  // at the target, or on its way there or back
    fetching,              // a large argument or result is being pulled
    waits_for_handler,     // it has arrived at the target
    in_handler,
    answered,  // the reply was not sent yet
};
inline constexpr std::uint8_t call_phases = static_cast<std::uint8_t>(CallPhase::answered) + 1;
// A text for people, for example "waiting for a credit".
[[nodiscard]] CINNABAR_API std::string_view to_string(CallPhase phase) noexcept;

// Where the next page begins; a default-constructed cursor begins with the first entry. Entries that are added or
// removed between two pages may be missed.
struct LookCursor {
    std::uint32_t peer = 0;
    std::uint32_t item = 0;  // the next item of that peer; after the last peer, the next slot of calls
    bool over = false;       // nothing is left
};

struct PeerSnapshot {
    na::Addr addr;
    std::string_view scheme;  // of the transport; static storage
    na::PeerState state = na::PeerState::idle;
    bool leaving = false;              // the peer was asked to close the connection, which is idle
    std::uint32_t connections = 0;     // connections to the peer until now
    std::uint32_t credits = 0;         // requests that this side may send
    std::uint32_t credits_given = 0;   // requests that the peer may send
    std::uint32_t calls_queued = 0;    // waiting to be sent; counted up to steps_max
    std::uint32_t calls_sent = 0;      // waiting for an answer
    std::uint32_t requests = 0;        // requests of the peer that are here
    std::uint32_t replies_unsent = 0;  // replies to the peer that were not sent yet
    std::uint64_t large_bytes = 0;     // of large values of the peer's requests, and of results pulled from it
    std::uint64_t decoded_bytes = 0;   // of the decoded arguments of its requests
    // Bytes sent and received since this context knows the peer: messages with their headers, and transfers by this
    // side. Bytes that the peer itself reads or writes in lent memory are counted at the peer.
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint32_t timed = 0;  // calls that were timed and answered (CallArgs::timed)
    CallParts parts_us{};     // sums over these calls
    TimeUs p50_us = 0;        // quantiles of the whole time of these calls until the answer
    TimeUs p99_us = 0;
    std::uint32_t book = 0;  // for Context::peer_times()
    TimeUs heard_us = 0;     // when its last message arrived, on the context's clock; 0: never

    static constexpr std::uint32_t steps_max = 1024;
};

struct CallSnapshot {
    bool as_target = false;  // a request of the peer; otherwise a call of this side
    CallPhase phase = CallPhase::unknown;
    RpcId rpc = 0;
    ProviderId provider = 0;
    std::uint64_t id = 0;  // the id that its origin gave it
    // When the call was made. For a request: when its handler began or, before that, when it arrived. On the context's
    // clock; 0: not known.
    TimeUs began_us = 0;
    TimeUs deadline_us = time_never;
    std::uint64_t bytes = 0;    // of the encoded arguments
    std::uint32_t credits = 0;  // requests that this side may send to the peer
    std::uint32_t ahead = 0;    // calls before it in the same queue
    std::string_view scheme;
    na::Addr peer;
};

}  // namespace cinnabar::rpc
