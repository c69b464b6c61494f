// SPDX-License-Identifier: BSD-3-Clause
// The books that a context keeps of one peer: credits in both directions, calls that wait or are out, requests held,
// control messages. Owner of the context only. Made at first use, gone when nothing is open and the peer is not
// connected.
#pragma once

#include "caller_quotas.hpp"
#include "control_queue.hpp"
#include "credits.hpp"
#include "frame.hpp"
#include "shared_budget.hpp"
#include "verdicts.hpp"

#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/request.hpp>

#include <atomic>
#include <memory>

namespace cinnabar::rpc {

class ContextCore;

// Of a connection that is about to end for want of use: no call is sent on it any more.
enum class Leaving : std::uint8_t {
    no,
    asked,  // the peer was asked to close it
    gone,   // it is closed here, and the event is to come
};

struct PeerBook : PoolSlot {
    using Calls = IntrusiveList<Call, &Call::link_>;
    using Requests = IntrusiveList<Request, &Request::link_>;

    ContextCore* core = nullptr;
    na::Peer* peer = nullptr;
    std::uint32_t users = 0;  // calls and lent memory that refer to it
    bool open = false;        // connected, and the counts below are of this connection

    // As origin.
    Calls queued;                     // wait for a credit
    std::uint32_t sent = 0;           // calls that wait for a reply, or pull one
    std::uint32_t credits = 0;        // requests that may be sent
    std::uint32_t posted = 0;         // requests that the transport has not sent yet
    std::uint32_t connection = 0;     // counts connections: what was posted for an older one is no matter of this one
    std::uint32_t replies_owed = 0;   // reply slots that are reserved
    bool strict = false;              // the transport counts receive slots: a late reply still needs its own
    std::uint64_t claimed_bytes = 0;  // of large results that are being pulled
    ListLink<PeerBook> reply_waiter;  // in Replies
    bool one_way_sent = false;        // on this connection, or ahead to dial: a closing context asks for a receipt
    bool looks_again = false;         // `look` is queued or `retry` armed: what waits is tried again soon
    Work look;
    Timer retry;

    // While calls are out and heartbeats are on.
    Timer beat;
    TimeUs heard = 0;   // when the last message came
    TimeUs pinged = 0;  // 0: not since

    Leaving leaving = Leaving::no;
    TimeUs asked = 0;       // to leave
    bool dropping = false;  // `drop` is queued
    Work drop;

    // As target.
    Requests held;                         // also those of connections before this one
    SharedBudget::Part overflow_bytes{0};  // large arguments and results of its requests
    SharedBudget::Part decoded_bytes{0};   // what those of its requests are decoded to
    WorkQueue unsent_replies;              // that the transport had no room for
    Credits account;
    std::uint64_t unfetched_bytes = 0;       // of large results lent to it
    std::unique_ptr<Verdicts> verdicts;      // of this connection; null: the policy was not asked yet, or
    std::unique_ptr<CountedCaller> counted;  // it has a quota for the caller, and each request is counted

    // Control: one message that wants an acknowledgement at a time, besides one acknowledgement: two slots there.
    ControlQueue control;
    na::Op control_op;
    na::Message* control_message = nullptr;
    bool control_unacked = false;
    bool owes_ack = false;
    bool complained = false;  // that its requests make no sense: one line in the log for each connection
    bool ending = false;      // this side has ended the connection, and the event is to come

    [[nodiscard]] bool idle() const noexcept {
        return users == 0 && held.empty() && control_message == nullptr && !looks_again;
    }
};

}  // namespace cinnabar::rpc
