// SPDX-License-Identifier: BSD-3-Clause
// A server whose handlers wait 100 us on a timer, 8 at a time. Further requests wait in a short queue, and beyond that
// are answered with `overloaded`.
#pragma once

#include "../harness/partner.hpp"
#include "rpc_endpoint.hpp"

namespace cinnabar::bench {

inline constexpr rpc::RpcId slow_id = rpc::rpc_id("bench.slow");

// The body of a partner.
void serve_slowly(PartnerSide& side);

}  // namespace cinnabar::bench
