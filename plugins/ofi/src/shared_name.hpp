// SPDX-License-Identifier: BSD-3-Clause
// What libfabric's shm inserts as an address is the name of a peer's memory, which it maps and obeys at once
// (smr_map_to_region, smr_cma_check of 1.17). Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

namespace cinnabar::ofi {

// Whether the memory of that name may be mapped: only the own user can have written to it. protocol: it is no name of
// an endpoint; unreachable: there is no such memory; permission: others may write to it.
[[nodiscard]] Errc may_map(ConstBytes address) noexcept;

}  // namespace cinnabar::ofi
