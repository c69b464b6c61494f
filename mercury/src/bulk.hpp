// SPDX-License-Identifier: BSD-3-Clause
// A bulk handle: own memory that is lent for as long as the handle lives, or memory of a peer as its description tells.
#pragma once

#include "class.hpp"
#include "mercury_bulk.h"

#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

struct hg_bulk {
    std::atomic<std::int32_t> references{1};
    hg_class* owner = nullptr;
    hg_size_t bytes = 0;
    std::uint32_t segment_count = 0;
    std::uint8_t flags = 0;  // HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY

    // Own memory. `local` has no bytes of segments that have none.
    std::vector<cinnabar::na::Segment> segments;
    cinnabar::bulk::Region local;
    std::mutex lend_mutex;  // of `lends`: one for each network, granted when the handle is first described
    std::vector<std::unique_ptr<cinnabar::bulk::Lend>> lends;

    // Memory of a peer: its description, which can be sent on.
    bool is_remote = false;
    std::vector<std::byte> encoded;
    cinnabar::bulk::RemoteRegion remote;  // borrows `encoded`

    bool is_bound = false;
    hg_addr bound;  // the owner's address, if it is known

    ~hg_bulk();
};

namespace cinnabar::mercury {

// A flag of descriptions beside those of HG_BULK_READWRITE: the data travels with it.
inline constexpr unsigned long describe_eager = 1ul << 2;

// Bytes of the description, and the description. `bytes` 0: it cannot be lent (said in the log).
[[nodiscard]] hg_size_t description_bytes(hg_bulk& bulk, unsigned long flags) noexcept;
[[nodiscard]] hg_return_t describe(hg_bulk& bulk, unsigned long flags, Bytes out) noexcept;

}  // namespace cinnabar::mercury
