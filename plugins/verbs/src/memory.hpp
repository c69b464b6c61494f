// SPDX-License-Identifier: BSD-3-Clause
// Registered memory and its leases. The registration of the user's memory is for local use: its key never leaves the
// process. Each lease has a registration of its own, for exactly its bytes and its access. So a lease's key gives
// access to nothing else, and becomes invalid when the registration ends. The key is that of the registration. Only a
// lease for one peer, where the device has memory windows, has the key of a window, and its registration can be
// accessed only through the window.
#pragma once

#include "lease_key.hpp"
#include "pinned.hpp"
#include "window.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/registrations.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cinnabar::verbs {

class VerbsMemory final : public na::CountedMemory {
  public:
    // Registers the segments. Requires: `count` has admitted them. too_large: a segment is larger than the device can
    // register. Also the errors of registration_error().
    [[nodiscard]] static Result<std::unique_ptr<na::Memory>> make(na::Transport& transport,
                                                                  std::shared_ptr<Device> device,
                                                                  std::span<const na::Segment> segments,
                                                                  na::Access access,
                                                                  std::shared_ptr<na::Registrations> count);

    // The pieces of [offset, offset + bytes) for a work request; returns how many. Requires: room for them in `out`.
    [[nodiscard]] std::size_t pieces(std::uint64_t offset, std::uint64_t bytes, std::span<ibv_sge> out) const noexcept;
    [[nodiscard]] std::size_t pieces_count(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  private:
    VerbsMemory(na::Transport& transport, std::shared_ptr<Device> device, std::span<const na::Segment> segments,
                na::Access access, std::shared_ptr<na::Registrations> count);
    [[nodiscard]] Result<void> pin(na::Access access);

    const std::shared_ptr<Device> device_;  // memory may outlive its transport
    std::vector<Registration> registrations_;
    std::vector<std::uint32_t> lkeys_;  // per segment
};

class LeasesToBind;
struct LentMemory;

// The registrations of a lease; Lease::registration points to it.
struct LentMemory {
    std::vector<KeySegment> segments;
    std::vector<Registration> registrations;
    // One window for each segment of a lease for one peer. Empty: the keys are those of the registrations, and valid on
    // every connection. Emptied when the session ends to which the windows are bound.
    std::vector<Window> windows;
    unsigned window_access = 0;
    std::unique_ptr<LentMemory> next;  // in the list of leases that could not be deregistered

    // Used by Bindings only, and guarded by its lock:
    ListLink<LentMemory> binding_link;
    LeasesToBind* waits_at = nullptr;  // not null: some windows wait to be bound
    IntrusiveList<LentMemory, &LentMemory::binding_link>* bound_in = nullptr;  // of the session that has bound some
    na::Lease* revoked = nullptr;
    std::size_t binds_begun = 0;
    std::uint32_t binds_out = 0;  // requests that have not completed
    bool confined = false;
};

// Registers the memory of the lease for the lease's access. A lease for one peer gets memory windows if the device has
// them. too_large: the device has no more windows. Also the errors of registration_error().
[[nodiscard]] Result<std::unique_ptr<LentMemory>> lend(const Device& device, const na::Lease& lease) noexcept;

// Frees the lease's windows and deregisters its memory; afterwards no peer has access. False: deregistering failed for
// a second, because a peer is in the middle of a write. Requires: the device has no request that binds the lease.
[[nodiscard]] bool take_back(const Device& device, LentMemory& lent) noexcept;

}  // namespace cinnabar::verbs
