// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. `place` names where the op is.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::verbs {

enum class Place : std::uint8_t {
    messages,  // VerbsPeer::messages: to be sent
    rma,       // VerbsPeer::rma: not in the send queue yet
    sending,   // in the send queue of a connection; the device may be at it
    ended,     // its result is known, it completes as soon as the stack has unwound
};

struct Posted : na::WithinOp<Posted> {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    RemotePlace remote;      // put, get, atomics
    std::uint32_t cell = 0;  // atomics in the send queue: where the old value goes
    Place place = Place::messages;
    Errc result = Errc::ok;
};

using PostedList = IntrusiveList<Posted, &Posted::link>;

}  // namespace cinnabar::verbs
