// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op from its post to its completion.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::verbs {

struct Posted : na::PostedOp {
    RemotePlace remote;      // put, get, atomics
    std::uint32_t cell = 0;  // atomics in the send queue: where the old value goes
};

}  // namespace cinnabar::verbs
