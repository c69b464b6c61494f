// SPDX-License-Identifier: BSD-3-Clause
// Options of calls that move memory. A plain value.
#pragma once

#include <cinnabar/group/collective.hpp>

#include <cstdint>
#include <type_traits>

namespace cinnabar::group {

// Must stay trivially destructible, like CollectiveOptions.
struct BulkOptions {
    // Which members are called, by which deadline, and along which tree. In a broadcast to members on other hosts,
    // Tree::automatic means the chain, the binary tree or the binomial tree, whichever is estimated to be fastest for
    // the size; `fanout` applies to k_ary and k_nomial. The other bulk calls use no tree.
    CollectiveOptions call = {};
    // 4 KiB to 16 MiB; a member forwards a chunk as soon as it has arrived
    std::uint32_t chunk_bytes = std::uint32_t{1} << 20;
    unsigned chunks_in_flight = 4;  // between two processes, 1 to 16
    // scatter_bulk, gather_bulk, all_to_all: how many members exchange bytes with this process at a time.
    unsigned members_in_flight = 8;
    // Whether each chunk has a CRC-32C, which each process that receives the chunk checks. A damaged chunk is requested
    // again, at most twice.
    bool checksum = false;
    // How long a member whose handler has begun may be lost, because its connection broke or because it was excluded by
    // mistake, before it counts as a failure. When the member is back, it continues from the chunks that it has. The
    // members below it in the tree do not wait for it. A member that has died delays the end of the call by this time.
    // At most 60 s.
    Microseconds come_back{0};
};
static_assert(std::is_trivially_destructible_v<BulkOptions>);

}  // namespace cinnabar::group
