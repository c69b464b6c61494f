// SPDX-License-Identifier: BSD-3-Clause
// Accesses of a peer's memory: in pieces, each at its own time, without the peer's process.
#pragma once

#include "port.hpp"

namespace cinnabar::sim {

// Begins the access of an op that is on its way. Requires: the peer is connected.
void access(SimPort& port, SimOp& sim_op, SimPeer& peer);

}  // namespace cinnabar::sim
