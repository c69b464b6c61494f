// SPDX-License-Identifier: BSD-3-Clause
// Registered memory and its leases. The registration of the user's memory is for local use: its key never leaves the
// process. Each lease is a registration of its own, for exactly its bytes and its access. So a lease's key gives access
// to nothing else, and becomes invalid with that registration.
#pragma once

#include "lease_key.hpp"
#include "pinned.hpp"

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

// The registrations of a lease; Lease::registration points to it.
struct LentMemory {
    std::vector<KeySegment> segments;
    std::vector<Registration> registrations;
    std::unique_ptr<LentMemory> next;  // in the list of leases that could not be deregistered
};

// Registers the memory of the lease for its access. Null, with errno: the system refused, or is out of memory.
[[nodiscard]] std::unique_ptr<LentMemory> lend(const Device& device, const na::Lease& lease) noexcept;

// Deregisters it; afterwards no peer has access. False: that failed for a second, because a peer is in the middle of a
// write.
[[nodiscard]] bool take_back(const Device& device, LentMemory& lent) noexcept;

}  // namespace cinnabar::verbs
