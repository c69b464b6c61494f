// SPDX-License-Identifier: BSD-3-Clause
// Maps memory that a peer's library allocated. The file's descriptor is fetched from the peer's process at the first
// use; the kernel allows that if this process may copy across address spaces. Owner of the context only.
#pragma once

#include "peer_process.hpp"
#include "segment.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::shm {

class PeerFiles {
  public:
    // The maximum number of mappings that are kept; beyond this, the least recently used one is dropped.
    static constexpr std::size_t files_max = 64;

    // Maps the file that has descriptor `file` - 1 in that process, if the file has the serial number `serial`. Null:
    // the file has another one, the process is dead, or the kernel is too old or denies the access. The reference is
    // valid until the next call.
    [[nodiscard]] const std::shared_ptr<const Segment>& map(const PeerProcess& process, std::uint32_t file,
                                                            std::uint64_t serial) noexcept;

  private:
    struct Known {
        std::uint32_t file = 0;
        std::uint64_t serial = 0;
        std::shared_ptr<const Segment> segment;  // null: it cannot be mapped
    };
    std::vector<Known> known_;             // the most recently used one is last
    std::shared_ptr<const Segment> none_;  // returned if out of memory
};

}  // namespace cinnabar::shm
