// SPDX-License-Identifier: BSD-3-Clause
// Who may ask a running node what it holds: NodeOptions::introspection. The calls are in node_reports.hpp.
#pragma once

#include <cstdint>

namespace cinnabar::hl {

// `own_user`: calls from this process, and over `shm` from processes of the user that this one runs as; nobody over a
// network. `anyone`: whoever can call; names, addresses of peers and lines of the log are told to them.
enum class Introspection : std::uint8_t { off, own_user, anyone };

}  // namespace cinnabar::hl
