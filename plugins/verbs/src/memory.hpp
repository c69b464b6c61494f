// SPDX-License-Identifier: BSD-3-Clause
// Registered memory, and what of it is lent. A registration of the user's memory is for the own device alone: its key
// never leaves the process. What is lent is registered once more, for exactly the bytes and the access of the lease, so
// that the key that peers get is worth nothing beyond it, and void when that registration is given back.
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
    // As CountedMemory. permission, out_of_memory: with the advice of registration_error().
    [[nodiscard]] static Result<std::unique_ptr<na::Memory>> make(na::Transport& transport,
                                                                  std::shared_ptr<Device> device,
                                                                  std::span<const na::Segment> segments,
                                                                  na::Access access,
                                                                  std::shared_ptr<na::Registrations> count);

    // The pieces of [offset, offset + bytes) for the device; returns how many. Requires: they fit `out`.
    [[nodiscard]] std::size_t pieces(std::uint64_t offset, std::uint64_t bytes, std::span<ibv_sge> out) const noexcept;
    [[nodiscard]] std::size_t pieces_count(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  private:
    VerbsMemory(na::Transport& transport, std::shared_ptr<Device> device, std::span<const na::Segment> segments,
                na::Access access, std::shared_ptr<na::Registrations> count);
    [[nodiscard]] Result<void> pin(na::Access access);

    const std::shared_ptr<Device> device_;  // a registration may outlive its transport
    std::vector<Registration> registrations_;
    std::vector<std::uint32_t> lkeys_;  // by segment
};

// What a lease's `registration` points to.
struct LentMemory {
    std::vector<KeySegment> segments;
    std::vector<Registration> registrations;
    std::unique_ptr<LentMemory> next;  // where the device does not give it back
};

// Registers what the lease covers for its access. Null, with errno, when the system refuses, or there is no memory.
[[nodiscard]] std::unique_ptr<LentMemory> lend(const Device& device, const na::Lease& lease) noexcept;

// Takes it back: afterwards the device gives no peer access. False: the device did not give it back within a second,
// because a peer is in the middle of a write.
[[nodiscard]] bool take_back(const Device& device, LentMemory& lent) noexcept;

}  // namespace cinnabar::verbs
