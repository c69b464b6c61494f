// SPDX-License-Identifier: BSD-3-Clause
// The state that a context keeps for one peer: credits in both directions, calls that are queued or sent, requests
// held, control messages. Owner of the context only. A book is made on first use, and released when nothing uses it and
// the peer is not connected.
#pragma once

#include "caller_quotas.hpp"
#include "control_queue.hpp"
#include "credit_account.hpp"
#include "frame.hpp"
#include "shared_budget.hpp"
#include "timed_calls.hpp"
#include "verdicts.hpp"

#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/request.hpp>

#include <atomic>
#include <memory>

namespace cinnabar::rpc {

class ContextBase;

// For an unused connection that is about to be closed (evict_idle.cpp): no call is sent on it any more.
enum class Leaving : std::uint8_t {
    no,
    asked,  // the peer was asked to close it
    gone,   // this side has closed it, and the event of its loss will follow
};

struct PeerBook : PoolSlot {
    using Calls = IntrusiveList<Call, &Call::link_>;
    using Requests = IntrusiveList<Request, &Request::link_>;

    ContextBase* base = nullptr;  // of its context
    na::Peer* peer = nullptr;
    std::uint32_t users = 0;       // calls and lent memory that refer to this book
    bool open = false;             // connected; the counts below are of this connection
    std::uint64_t bytes_sent = 0;  // in messages and by transfers of this side, over all connections

    // As origin.
    Calls queued;                       // calls that wait to be sent
    std::uint32_t sent = 0;             // calls that wait for a reply, or pull its result
    std::uint32_t credits = 0;          // requests that may be sent
    std::uint32_t posted = 0;           // requests that the transport has accepted and not sent yet
    std::uint32_t connection = 0;       // counts connections, to recognize what was posted for an earlier one
    std::uint32_t replies_pending = 0;  // receive slots that are reserved for replies
    bool strict = false;                // the transport counts receive slots: a late reply still needs its own slot
    std::uint64_t claimed_bytes = 0;    // of large results that are being pulled
    ListLink<PeerBook> reply_waiter;    // in Replies::waiters_
    bool one_way_sent = false;          // on this connection or dial: a closing context asks for a receipt
    CallPhase stuck_on = CallPhase::unknown;  // why the last queued call could not be sent; unknown: none is queued
    bool looks_again = false;  // `look` is queued or `retry` is armed: what waits will be tried again soon
    WorkItem look;
    WheelTimer retry;

    std::unique_ptr<TimedCalls> timed;  // null: no call was timed, or out of memory

    // Armed while calls wait for replies and heartbeats are on, or while the peer is asked to leave.
    WheelTimer beat;
    TimeUs heard = 0;                  // when the last message arrived
    std::uint64_t bytes_received = 0;  // as bytes_sent; placed here, because each message writes `heard` anyway
    TimeUs opened = 0;                 // when the connection was made
    TimeUs pinged = 0;                 // when the last beat sent a ping; 0: it sent none

    Leaving leaving = Leaving::no;
    TimeUs asked = 0;       // when the peer was asked to leave
    bool dropping = false;  // `drop` is queued
    WorkItem drop;

    // As target.
    Requests held;                        // including those of earlier connections
    SharedBudget::Part large_bytes{0};    // of large arguments and results of its requests
    SharedBudget::Part decoded_bytes{0};  // of decoded arguments of its requests
    WorkQueue unsent_replies;             // replies that the transport had no room for
    CreditAccount account;
    std::uint64_t unfetched_bytes = 0;       // of large results that the peer has not fetched
    std::unique_ptr<Verdicts> verdicts;      // of this connection; null: not asked yet, or `counted` is set
    std::unique_ptr<CountedCaller> counted;  // holds the verdicts instead, if the caller has a quota

    // Control messages: at most one message that needs an acknowledgement and one acknowledgement are in flight, in two
    // receive slots of the peer.
    ControlQueue control;
    na::Op control_op;
    na::Message* control_message = nullptr;
    bool control_unacked = false;
    bool owes_ack = false;
    bool complained = false;  // a malformed request was logged: one line per connection
    bool ending = false;      // this side has ended the connection, and the event of its loss will follow

    // The last period in which calls that wait to be sent had no credit; `until` is 0 while it lasts. The period may go
    // on while no call waits. Placed at the end, since only calls that wait need these times.
    TimeUs no_credit_since = 0;
    TimeUs no_credit_until = 1;

    [[nodiscard]] bool idle() const noexcept {
        return users == 0 && held.empty() && control_message == nullptr && !looks_again;
    }
};

}  // namespace cinnabar::rpc
