// SPDX-License-Identifier: BSD-3-Clause
// Checks which transports this build has, and which of them open on this host.
#pragma once

#include "doctor/finding.hpp"

#include <cinnabar/na/registry.hpp>

namespace cinnabar::tools::doctor {

// Checks which transports open. Ids: transport-SCHEME, transports, ofi-provider. A transport that does not open is a
// problem if the host has the devices that the transport needs, otherwise a note. `devices`: the host has RDMA devices.
void check_transports(const na::Registry& registry, bool devices, Findings& found);

}  // namespace cinnabar::tools::doctor
