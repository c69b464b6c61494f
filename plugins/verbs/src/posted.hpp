// SPDX-License-Identifier: BSD-3-Clause
// The plugin's state of an op, from its post to its completion.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::verbs {

struct Posted : na::PostedOp {
    RemotePlace remote;      // for put, get and atomics
    std::uint32_t cell = 0;  // for atomics in the send queue: receives the old value
};

}  // namespace cinnabar::verbs
