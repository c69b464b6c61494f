// SPDX-License-Identifier: BSD-3-Clause
// A window of a region lent to a peer over one transport for the time of a call: a lease and the handle that keeps the
// memory and its registration alive under it. Lives in a pool of the layer above; never moved while granted. grant and
// revoke: any thread of a `many` context, the owner of a `one` context.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>

namespace cinnabar::bulk {

class CINNABAR_API Lend : public PoolSlot {
  public:
    Lend() noexcept;
    // Requires: not granted.
    ~Lend();
    Lend(const Lend&) = delete;
    Lend& operator=(const Lend&) = delete;

    // Requires: not granted, no fence pending. permission: more access than the region has. too_large: all lease slots
    // are out. Else what the registration of the region answers. Nothing is held after an error.
    [[nodiscard]] Errc grant(Region window, na::Access access,
                             const std::shared_ptr<na::Transport>& transport) noexcept;
    // Requires: granted. ok: no byte is read or written through it any more, and the region is let go. again: the same
    // will hold when `fenced` runs, once, inside progress(); set fenced.run before.
    [[nodiscard]] Errc revoke() noexcept;

    [[nodiscard]] bool granted() const noexcept { return lease_.granted(); }
    // What goes into a Description.
    [[nodiscard]] na::Lease& lease() noexcept { return lease_; }
    [[nodiscard]] const Region& region() const noexcept { return region_; }

    // The fence failed: the peer may still write. The region is held until forget().
    [[nodiscard]] bool quarantined() const noexcept { return lease_.fence_failed; }
    // The peer has moved on or died: ends the quarantine.
    void forget() noexcept;

    Work fenced;
    // The Lend whose `fenced` runs.
    [[nodiscard]] static Lend& of(Work& work) noexcept { return *static_cast<Lend*>(work.user); }

  private:
    static void on_lease_fenced(Work& work) noexcept;
    na::Lease lease_;
    Region region_;
};

}  // namespace cinnabar::bulk
