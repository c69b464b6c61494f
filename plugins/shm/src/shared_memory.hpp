// SPDX-License-Identifier: BSD-3-Clause
// Memory that the library allocates for its users (na::Transport::allocate_memory). Each piece is an anonymous file
// that peers can map, so that they move its bytes by memcpy or read them in place. Any thread.
#pragma once

#include "segment.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace cinnabar::shm {

// Where bytes are in such a file, as a peer finds them.
struct FilePlace {
    std::uint32_t file = 0;      // 1 + its descriptor in the owner; 0: in no file
    std::uint64_t serial = 0;    // of the file, since a descriptor's number may be used again
    std::uint64_t position = 0;  // in the file
};

class SharedMemory {
  public:
    // Whole pages, all zeros, not inherited by forked children. Null when descriptors or memory are short.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
    // Peers that still map the memory see zeros, and hold none of it. Requires: no lease.
    void free(void* memory) noexcept;
    // Where a segment is, if it is within one piece.
    [[nodiscard]] FilePlace find(const std::byte* base, std::size_t bytes) const noexcept;

  private:
    struct Piece {
        Segment segment;
        UniqueFd fd;
        std::uint64_t serial = 0;
    };
    mutable std::mutex mutex_;
    std::map<const std::byte*, Piece> pieces_;  // by address
};

}  // namespace cinnabar::shm
