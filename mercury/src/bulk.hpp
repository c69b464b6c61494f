// SPDX-License-Identifier: BSD-3-Clause
// A bulk handle: either of local memory, which is lent as long as the handle lives; or of a peer's memory, decoded from
// the bytes of a serialized handle (its description).
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
    std::atomic<bool> over{false};  // the lease is revoked and its fence is complete
};

}  // namespace cinnabar::mercury

struct hg_bulk {
    std::atomic<std::int32_t> references{1};
    hg_class* owner = nullptr;
    hg_size_t bytes = 0;
    std::uint32_t segment_count = 0;
    std::uint8_t flags = 0;  // HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY

    // Local memory. `local` leaves out segments of size 0.
    std::vector<cinnabar::na::Segment> segments;
    cinnabar::bulk::Region local;
    std::mutex lend_mutex;  // guards `lends`: one for each network, granted when the handle is first serialized
    std::vector<std::unique_ptr<cinnabar::mercury::Lending>> lends;
    std::uint64_t secret = 0;  // identifies the handle in its descriptions; 0: not serialized yet
    unsigned users = 0;        // how many `Original` hold the handle; guarded by described_mutex

    // Set if this handle was decoded by the same class that described it: the secret of the original handle. Then this
    // handle has neither segments nor `local` of its own, but uses those of the original, which may be freed first.
    std::uint64_t original = 0;

    // Memory of a peer: its description, which can be forwarded to others.
    bool is_remote = false;
    std::vector<std::byte> encoded;
    cinnabar::bulk::RemoteRegion remote;  // points into `encoded`

    bool is_bound = false;
    hg_addr bound;  // the owner's address, if it is known; of local memory guarded by lend_mutex
};

namespace cinnabar::mercury {

[[nodiscard]] inline na::Addr owner_of(hg_bulk& bulk) {
    const std::lock_guard lock(bulk.lend_mutex);
    return bulk.bound.addr;
}

// A flag in addition to those of HG_BULK_READWRITE: the description contains the data.
inline constexpr unsigned long describe_eager = 1ul << 2;

// The size of the description, and the description itself. Size 0: the memory cannot be lent; the reason was logged.
[[nodiscard]] hg_size_t description_bytes(hg_bulk& bulk, unsigned long flags) noexcept;
[[nodiscard]] hg_return_t describe(hg_bulk& bulk, unsigned long flags, Bytes out) noexcept;
// Assigns the handle its secret, once. Requires: the handle was not decoded.
[[nodiscard]] hg_return_t remember_description(hg_bulk& bulk) noexcept;
// From now on, the class no longer recognises the handle's description as its own memory. Waits until no `Original`
// holds the handle.
void forget_description(hg_bulk& bulk) noexcept;

// Whether the description with this secret is of a handle of this class. If so, `made` becomes a handle of that memory.
[[nodiscard]] bool recognise_own(hg_class& owner, std::uint64_t secret, hg_bulk& made) noexcept;

// Holds the local handle that has the memory of `bulk`: `bulk` itself, or its original. Converts to false if the
// original was freed. HG_Bulk_free of the original waits until this object is gone, so hold it while memory is copied,
// never for an operation that needs progress.
class Original {
  public:
    explicit Original(hg_bulk& bulk) noexcept;
    ~Original();
    Original(const Original&) = delete;
    Original& operator=(const Original&) = delete;
    explicit operator bool() const noexcept { return bulk_ != nullptr; }
    hg_bulk* operator->() const noexcept { return bulk_; }
    hg_bulk& operator*() const noexcept { return *bulk_; }

  private:
    hg_bulk* bulk_;
    bool is_counted_ = false;
};
inline constexpr const char* original_is_gone =
    "the bulk handle was decoded from a description of this class's own memory, whose handle has been freed since";
// For a transfer: takes a reference to the original, as if the user had passed the original instead of `bulk`. Null if
// the original was freed. Requires: bulk.original != 0.
[[nodiscard]] hg_bulk* keep_original(hg_bulk& bulk) noexcept;

// Lends the memory on each network of the class. If a network refuses, the next call begins with that network.
// Requires: lend_mutex is held.
[[nodiscard]] hg_return_t lend(hg_bulk& bulk);
// Revokes the leases of all peers and waits at most a second for accesses in progress. HG_TIMEOUT: an access has not
// ended; the class keeps its lease and registration until HG_Finalize.
[[nodiscard]] hg_return_t take_back(hg_bulk& bulk) noexcept;

}  // namespace cinnabar::mercury
