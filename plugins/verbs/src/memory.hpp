// SPDX-License-Identifier: BSD-3-Clause
// Registered memory and its leases. The registration of the user's memory is for local use: its key never leaves the
// process. Each lease is a registration of its own, for exactly its bytes and its access. So a lease's key gives access
// to nothing else, and becomes invalid with that registration. The key is the registration's own; that of a lease for
// one peer, where the device has memory windows, is the key of a window of the registration, which cannot be accessed
// otherwise.
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
    // One for each segment of a lease for one peer; empty: the keys are those of the registrations, and valid on every
    // connection. Emptied when the session ends to which they were bound.
    std::vector<Window> windows;
    unsigned window_access = 0;
    std::unique_ptr<LentMemory> next;  // in the list of leases that could not be deregistered

    // Of Bindings, and guarded by it:
    ListLink<LentMemory> binding_link;
    LeasesToBind* waits_at = nullptr;  // not null: some windows wait to be bound
    IntrusiveList<LentMemory, &LentMemory::binding_link>* bound_in = nullptr;  // of the session that has bound some
    na::Lease* revoked = nullptr;
    std::size_t binds_begun = 0;
    std::uint32_t binds_out = 0;  // requests that have not completed
    bool confined = false;
};

// Registers the memory of the lease for its access, for one peer by windows if the device has them. too_large: it has
// no more windows. Otherwise the errors of registration_error().
[[nodiscard]] Result<std::unique_ptr<LentMemory>> lend(const Device& device, const na::Lease& lease) noexcept;

// Frees its windows and deregisters it; afterwards no peer has access. False: that failed for a second, because a peer
// is in the middle of a write. Requires: no request that binds it is with the device.
[[nodiscard]] bool take_back(const Device& device, LentMemory& lent) noexcept;

}  // namespace cinnabar::verbs
