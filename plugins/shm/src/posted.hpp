// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. An op is in exactly one list, named by `place`.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::shm {

struct RmaSlot;

enum class Place : std::uint8_t {
    messages,  // ShmPeer::messages: to be written into the ring
    rma,       // ShmPeer::rma: nothing was done for it yet
    copying,   // Session: being copied across address spaces, window by window
    notifies,  // Session: its bytes are in place, its value is to be written into the ring
    puts,      // Session: admitted, has data that are in no record yet
    requests,  // Session: admitted, the question is in no record yet
    awaiting,  // Session: admitted, everything is sent, the answer is not here
    ended,     // ShmPort: its result is known, it completes as soon as the stack has unwound
};

struct Posted : na::WithinOp<Posted> {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    RmaSlot* slot = nullptr;  // while admitted
    std::uint64_t moved = 0;  // put: bytes that are copied or in records; get: bytes that came
    Place place = Place::messages;
    Errc result = Errc::ok;
};

using PostedList = IntrusiveList<Posted, &Posted::link>;

}  // namespace cinnabar::shm
