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

namespace cinnabar::mercury {

struct Lending : bulk::Lend {
    std::atomic<bool> over{false};  // revoked, and its fence has ended
};

}  // namespace cinnabar::mercury

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
    std::vector<std::unique_ptr<cinnabar::mercury::Lending>> lends;
    std::uint64_t secret = 0;  // names it in its descriptions; 0: not described yet

    // Memory of a peer: its description, which can be sent on.
    bool is_remote = false;
    std::vector<std::byte> encoded;
    cinnabar::bulk::RemoteRegion remote;  // borrows `encoded`

    bool is_bound = false;
    hg_addr bound;  // the owner's address, if it is known
};

namespace cinnabar::mercury {

// A flag of descriptions beside those of HG_BULK_READWRITE: the data travels with it.
inline constexpr unsigned long describe_eager = 1ul << 2;

// Bytes of the description, and the description. `bytes` 0: it cannot be lent (said in the log).
[[nodiscard]] hg_size_t description_bytes(hg_bulk& bulk, unsigned long flags) noexcept;
[[nodiscard]] hg_return_t describe(hg_bulk& bulk, unsigned long flags, Bytes out) noexcept;
// A description of it that comes back is a peer's memory from now on.
void forget_description(hg_bulk& bulk) noexcept;

// Lends its memory once on each network of the class. Requires: lend_mutex.
[[nodiscard]] hg_return_t lend(hg_bulk& bulk);
// Takes it back from all peers and waits, a second at most, for accesses that are under way. HG_TIMEOUT: one of them
// has not ended; its registration stays with the class until HG_Finalize.
[[nodiscard]] hg_return_t take_back(hg_bulk& bulk) noexcept;

}  // namespace cinnabar::mercury
