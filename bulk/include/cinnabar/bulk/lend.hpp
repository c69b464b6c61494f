// SPDX-License-Identifier: BSD-3-Clause
// Lend: part of a region, lent to a peer over one transport for the duration of a call. A Lend holds a lease, and a
// handle of the region that keeps the memory and its registration alive. A Lend is in a pool of the rpc layer and must
// not move while granted. Call grant and revoke on any thread if the context is for many threads (`many`), otherwise as
// the owner of the context.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <utility>

namespace cinnabar::bulk {

class CINNABAR_API Lend : public PoolSlot {
  public:
    Lend() noexcept;
    // Requires: not granted.
    ~Lend();
    Lend(const Lend&) = delete;
    Lend& operator=(const Lend&) = delete;

    // Lends the window. Requires: not granted, and no fence is pending. permission: `access` exceeds the region's
    // access. too_large: no lease slot is free. Other errors: those of registering the region. On an error the Lend
    // holds nothing.
    [[nodiscard]] Errc grant(Region window, na::Access access, const std::shared_ptr<na::Transport>& transport,
                             na::LentTo lent_to = na::LentTo::anyone) noexcept;
    // For confine(): who may use the memory besides its peer. Requires: granted, with LentTo::anyone.
    void set_guests(std::shared_ptr<const na::Guests> guests) noexcept { lease_.guests = std::move(guests); }
    // As na::Transport::confine. Requires: granted.
    void confine(const na::Peer& peer) noexcept { lease_.memory->transport().confine(lease_, peer); }
    // Revokes the lease. Requires: granted. ok: the peer can no longer access the memory, and the region is released.
    // again: this will be so when `fenced` runs, inside progress(), and not before. Set fenced.run before you call
    // revoke().
    [[nodiscard]] Errc revoke() noexcept;

    [[nodiscard]] bool granted() const noexcept { return lease_.granted(); }
    // For Description::leases.
    [[nodiscard]] na::Lease& lease() noexcept { return lease_; }
    [[nodiscard]] const Region& region() const noexcept { return region_; }

    // True if the fence failed: the peer may still write, so the region is held, and quarantined(), until forget().
    [[nodiscard]] bool quarantined() const noexcept { return lease_.fence_failed; }
    // As na::Transport::is_accessed. Requires: quarantined.
    [[nodiscard]] bool is_accessed() const noexcept;
    // Ends the quarantine. Call it once the peer can no longer write, because it has ended its access or died.
    void forget() noexcept;

    WorkItem fenced;
    // The Lend whose `fenced` runs.
    [[nodiscard]] static Lend& of(WorkItem& work) noexcept { return *static_cast<Lend*>(work.user); }

  private:
    static void on_lease_fenced(WorkItem& work) noexcept;
    na::Lease lease_;
    Region region_;
    Quarantine quarantine_;
};

}  // namespace cinnabar::bulk
