// SPDX-License-Identifier: BSD-3-Clause
// An address of libfabric's provider shm is the name of shared memory of the peer. When the address is inserted,
// libfabric maps that memory and trusts its contents (smr_map_to_region, smr_cma_check of 1.17). Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

namespace cinnabar::ofi {

// Checks that the memory of that name may be mapped: only this user can write to it. protocol: `address` is not the
// name of an endpoint; unreachable: there is no such memory; permission: other users can write to it.
[[nodiscard]] Errc may_map(ConstBytes address) noexcept;

}  // namespace cinnabar::ofi
