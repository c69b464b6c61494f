// SPDX-License-Identifier: BSD-3-Clause
// Who may query the state of a running node: NodeOptions::introspection. The RPCs are in node_reports.hpp.
#pragma once

#include <cstdint>

namespace cinnabar::hl {

// Who may query the state of a node. off: nobody may ask. own_user: this process and, over `shm`, processes of the same
// user may ask; nobody may ask over a network. anyone: everybody who can connect may ask, and so learn names, addresses
// of peers and lines of the log.
enum class Introspection : std::uint8_t { off, own_user, anyone };

}  // namespace cinnabar::hl
