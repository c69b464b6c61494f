// SPDX-License-Identifier: BSD-3-Clause
// RMA: accesses the peer's memory in pieces, each at its own time, without the peer's process.
#pragma once

#include "port.hpp"

namespace cinnabar::sim {

// Starts the access of an op that is in flight. Requires: the peer is connected.
void access(SimPort& port, SimOp& sim_op, SimPeer& peer);

}  // namespace cinnabar::sim
