// SPDX-License-Identifier: BSD-3-Clause
// The plugin's state of an op, from its post to its completion.
#pragma once

#include <cinnabar/na/session/posted.hpp>

namespace cinnabar::ofi {

struct Transfer;

struct Posted : na::PostedOp {
    Transfer* transfer = nullptr;  // set while admitted
};

}  // namespace cinnabar::ofi
