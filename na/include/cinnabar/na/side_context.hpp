// SPDX-License-Identifier: BSD-3-Clause
// The id of the context of a side loop (hl/side_loop.hpp). A process has at most one side loop per set of transports,
// so peers know the id of its context beforehand: address.with_context(side_context).
#pragma once

#include <cinnabar/na/types.hpp>

namespace cinnabar::na {

// Only connections that name this context reach it; TransportOptions::spread gives it none.
inline constexpr ContextId side_context = 0xfffe;

}  // namespace cinnabar::na
