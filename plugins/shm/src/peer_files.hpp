// SPDX-License-Identifier: BSD-3-Clause
// Memory that a peer's library allocated, mapped here: its descriptor is fetched from the peer at the first use, which
// the kernel allows to whoever may copy across address spaces. Owner of the context only.
#pragma once

#include "peer_process.hpp"
#include "segment.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::shm {

class PeerFiles {
  public:
    // Mappings that are kept; the one that was used least recently makes room.
    static constexpr std::size_t files_max = 64;

    // The file behind descriptor `file` - 1 of that process, if it is the one with this serial number. Null when it
    // cannot be had: the process is dead, the kernel is too old, or denies it. The reference is good until the next
    // call.
    [[nodiscard]] const std::shared_ptr<const Segment>& map(const PeerProcess& process, std::uint32_t file,
                                                            std::uint64_t serial) noexcept;

  private:
    struct Known {
        std::uint32_t file = 0;
        std::uint64_t serial = 0;
        std::shared_ptr<const Segment> segment;  // null: it cannot be had
    };
    std::vector<Known> known_;             // the one used last at the end
    std::shared_ptr<const Segment> none_;  // what is returned when there is no memory to remember by
};

}  // namespace cinnabar::shm
