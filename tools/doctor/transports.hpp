// SPDX-License-Identifier: BSD-3-Clause
// Which transports this build has, and which of them open on this host.
#pragma once

#include "doctor/finding.hpp"

#include <cinnabar/na/registry.hpp>

namespace cinnabar::tools::doctor {

// Ids: transport-SCHEME. One that does not open is a problem where the host has what it needs (`devices`: RDMA), and a
// note where it has not.
void check_transports(const na::Registry& registry, bool devices, Findings& found);

}  // namespace cinnabar::tools::doctor
