// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. An op is in exactly one list, named by `place`.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::tcp {

struct RmaSlot;

enum class Place : std::uint8_t {
    messages,  // TcpPeer::messages: to be sent
    rma,       // TcpPeer::rma: not admitted to the bulk lane yet
    puts,      // BulkLane: has data that are in no frame yet
    sending,   // BulkLane: its data are in the frame that is being written; in no list
    awaiting,  // BulkLane: everything is sent, the answer is not here
    ended,     // TcpPort: its result is known, it completes as soon as the stack has unwound
};

struct Posted : na::WithinOp<Posted> {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    RmaSlot* slot = nullptr;  // while admitted to the bulk lane
    std::uint64_t moved = 0;  // put: bytes that are in frames; get: bytes that came
    Place place = Place::messages;
    Errc result = Errc::ok;
};

using PostedList = IntrusiveList<Posted, &Posted::link>;

}  // namespace cinnabar::tcp
