// SPDX-License-Identifier: BSD-3-Clause
// What this plugin keeps in an op between its post and its completion.
#pragma once

#include <cinnabar/na/session/remote_access.hpp>

namespace cinnabar::shm {

using Posted = na::PostedOp;
using PostedList = na::PostedOps;
using Place = na::OpPlace;

}  // namespace cinnabar::shm
