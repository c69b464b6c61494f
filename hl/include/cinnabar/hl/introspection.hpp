// SPDX-License-Identifier: BSD-3-Clause
// Who may ask a running node for its state: NodeOptions::introspection. The calls are in node_reports.hpp.
#pragma once

#include <cstdint>

namespace cinnabar::hl {

// `own_user`: calls from this process and, over `shm`, from processes of the same user; nobody over a network.
// `anyone`: everybody who can call, who then learns names, addresses of peers and lines of the log.
enum class Introspection : std::uint8_t { off, own_user, anyone };

}  // namespace cinnabar::hl
