// SPDX-License-Identifier: BSD-3-Clause
// The works over an RDMA device, beside perftest. Both sides are on this host, and use the same device.
#pragma once

#include "contender.hpp"

#include <string>
#include <vector>

namespace cinnabar::compare {

// The first RDMA device of this host; empty if there is none, or Cinnabar was built without the transport.
[[nodiscard]] std::string rdma_device();
// Empty if `device` is.
[[nodiscard]] std::vector<Work> rdma_works(const std::string& device);

}  // namespace cinnabar::compare
