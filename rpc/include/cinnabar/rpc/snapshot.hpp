// SPDX-License-Identifier: BSD-3-Clause
// What a context holds at this moment, for people who look at a running program: its peers, the calls of this side that
// are under way, and the requests of others that are here. Read by Context::look_at_*; any thread. Each look owns the
// context for as long as one page takes, and allocates nothing.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <string_view>

namespace cinnabar::rpc {

// Where a call or a request is on its way.
enum class CallPhase : std::uint8_t {
    unknown,
    connecting,            // the connection is being made, or made anew
    waits_for_credit,      // the target has given no more requests
    waits_for_reply_slot,  // too many answers are outstanding here
    waits_for_room,        // the transport takes no more
    sending,               // with the transport
    sent,                  // at the target, or on its way there or back
    fetching,              // a large argument or result is being pulled
    waits_for_handler,     // as target: it has come
    in_handler,
    answered,  // the reply has not left
};
inline constexpr std::uint8_t call_phases = static_cast<std::uint8_t>(CallPhase::answered) + 1;
// A few words for people: "waiting for a credit".
[[nodiscard]] CINNABAR_API std::string_view to_string(CallPhase phase) noexcept;

// Where the next page begins; a new one begins at the front. What comes and goes between two pages may be missing.
struct LookPlace {
    std::uint32_t peer = 0;
    std::uint32_t item = 0;  // of that peer; behind the last peer, a slot
    bool over = false;       // nothing is left
};

struct PeerSnapshot {
    na::Addr addr;
    std::string_view scheme;  // of the transport; static storage
    na::PeerState state = na::PeerState::idle;
    bool leaving = false;              // it was asked to close the connection, which nobody uses
    std::uint32_t connections = 0;     // there have been so many
    std::uint32_t credits = 0;         // requests that this side may send
    std::uint32_t credits_given = 0;   // requests that it may send
    std::uint32_t calls_queued = 0;    // wait to be sent; counted up to steps_max
    std::uint32_t calls_sent = 0;      // the same of those that wait for an answer
    std::uint32_t requests = 0;        // of it that are here
    std::uint32_t replies_unsent = 0;  // to it, that have not left
    std::uint64_t large_bytes = 0;     // of its large arguments and results
    std::uint64_t decoded_bytes = 0;   // of its decoded arguments
    TimeUs heard_us = 0;               // when the last message came, on the context's clock; 0: never

    static constexpr std::uint32_t steps_max = 1024;
};

struct CallSnapshot {
    bool as_target = false;  // a request of the peer; otherwise a call of this side
    CallPhase phase = CallPhase::unknown;
    RpcId rpc = 0;
    ProviderId provider = 0;
    std::uint64_t id = 0;  // that of its origin
    TimeUs began_us = 0;   // made, or given to its handler; on the context's clock; 0: not known
    TimeUs deadline_us = time_never;
    std::uint64_t bytes = 0;    // of the encoded arguments
    std::uint32_t credits = 0;  // that this side has of the peer
    std::uint32_t ahead = 0;    // calls before it in the same queue
    std::string_view scheme;
    na::Addr peer;
};

}  // namespace cinnabar::rpc
