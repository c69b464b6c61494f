// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion. An op is in exactly one list, named by `place`.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::ofi {

struct Transfer;

enum class Place : std::uint8_t {
    messages,  // OfiPeer::messages: to be sent
    sending,   // its buffer is with the fabric; in no list
    rma,       // OfiPeer::rma: not admitted yet
    admitted,  // Transfer; in no list
    ended,     // OfiPort: its result is known, it completes as soon as the stack has unwound
};

struct Posted : na::WithinOp<Posted> {
    ListLink<Posted> link;
    na::Op* op = nullptr;
    Transfer* transfer = nullptr;  // while admitted
    Place place = Place::messages;
    Errc result = Errc::ok;
};

using PostedList = IntrusiveList<Posted, &Posted::link>;

}  // namespace cinnabar::ofi
