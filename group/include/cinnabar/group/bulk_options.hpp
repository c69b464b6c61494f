// SPDX-License-Identifier: BSD-3-Clause
// Options of calls that move memory. A plain value.
#pragma once

#include <cinnabar/group/collective.hpp>

#include <cstdint>
#include <type_traits>

namespace cinnabar::group {

// Must stay trivially destructible, as CollectiveOptions.
struct BulkOptions {
    // Whom it is for, and for how long. `tree` automatic: of a broadcast, by its bytes, which of a chain, a binary and a
    // binomial tree takes the least time; `fanout` counts where `tree` is k_ary or k_nomial. Others need no tree.
    CollectiveOptions call = {};
    std::uint32_t chunk_bytes = std::uint32_t{1} << 20;  // 4 KiB to 16 MiB; what moves on as soon as it has come
    unsigned chunks_in_flight = 4;                       // from one process to another, 1 to 16
    // Of scatter_bulk, gather_bulk and all_to_all: how many members move bytes from or to this process at a time.
    unsigned members_in_flight = 8;
    // CRC-32C of each chunk, from process to process; what is found to be damaged is moved again, twice.
    bool checksum = false;
};
static_assert(std::is_trivially_destructible_v<BulkOptions>);

}  // namespace cinnabar::group
