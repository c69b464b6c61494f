// SPDX-License-Identifier: BSD-3-Clause
// The books that a context keeps of one peer: credits in both directions, calls that wait or are out, requests held,
// control messages. Owner of the context only. Made at first use, gone when nothing is open and the peer is not
// connected.
#pragma once

#include "codec.hpp"

#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/request.hpp>

#include <vector>

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
    const Codec* codec = &cinnabar_codec;
    std::uint32_t users = 0;  // calls and loans that refer to it
    bool open = false;        // connected, and the counts below are of this connection

    // As origin.
    Calls queued;                    // wait for a credit
    Calls sent;                      // wait for a reply
    std::uint32_t credits = 0;       // requests that may be sent
    std::uint32_t posted = 0;        // requests that the transport has not sent yet
    std::uint32_t connection = 0;    // counts connections: what was posted for an older one is no matter of this one
    std::uint32_t replies_owed = 0;  // reply slots that are reserved
    bool strict = false;             // the transport counts receive slots: a late reply still needs its own
    bool awaits_reply_slot = false;  // in ContextCore::reply_waiters
    bool looks_again = false;        // `look` is queued or `retry` armed: what waits is tried again soon
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
    Requests held;
    std::uint64_t input_bytes = 0;  // large arguments of its requests
    WorkQueue unsent_replies;       // that the transport had no room for
    std::uint32_t budget = 0;       // credits made for this peer, wherever they are
    std::uint32_t granted = 0;      // of these, in the peer's hands
    std::uint32_t returnable = 0;   // of these, back here and free to be granted again
    Timer starved;                  // runs while the peer has no credit and some could be given
    bool hungry = false;            // the peer said that it has more to send
    bool active = false;            // it has sent since the recall looked last
    bool recalled = false;          // it was asked to return what it does not use

    // Control: one message that wants an acknowledgement at a time, besides one acknowledgement: two slots there.
    std::vector<ControlRecord> control;
    na::Op control_op;
    na::Message* control_message = nullptr;
    bool control_unacked = false;
    bool owes_ack = false;

    [[nodiscard]] bool idle() const noexcept {
        return users == 0 && held.empty() && control_message == nullptr && !looks_again;
    }
};

}  // namespace cinnabar::rpc
