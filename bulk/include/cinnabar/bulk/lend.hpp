// SPDX-License-Identifier: BSD-3-Clause
// One lease on a region for the time of a call. Lives in a pool of the RPC layer; never moves while granted.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>

namespace cinnabar::bulk {

class CINNABAR_API Lend : public PoolSlot {
  public:
    // Registers the region there if needed and lends its window. Keeps a handle on the region. Errors of
    // Region::memory_on and na::Transport::grant. Requires: not granted.
    [[nodiscard]] Errc grant(const Region& region, const std::shared_ptr<na::Transport>& transport,
                             na::Access access) noexcept;
    // Takes it back: `ok`, nobody touches the window any more and the region is let go; `again`, lease.fenced will run
    // (set it before), then call settle().
    [[nodiscard]] Errc revoke() noexcept;
    // After lease.fenced ran: lets the region go; false when the fence failed: then the region is kept until the
    // process ends, since the peer may still write to it.
    bool settle() noexcept;

    [[nodiscard]] bool granted() const noexcept { return transport_ != nullptr; }

    na::Lease lease;
    Lend* next = nullptr;    // for the holder
    void* holder = nullptr;  // for the holder

  private:
    Region region_;
    std::shared_ptr<na::Transport> transport_;
};

}  // namespace cinnabar::bulk
