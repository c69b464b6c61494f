// SPDX-License-Identifier: BSD-3-Clause
// Memory that the library allocates for its users (na::Transport::allocate_memory): each piece is a file without a name
// that peers can map, so that they move its bytes by memcpy, or read them in place. Any thread.
#pragma once

#include "segment.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace cinnabar::shm {

// Where bytes lie in such a file, as a peer finds them.
struct FilePlace {
    std::uint32_t file = 0;      // 1 + the number of its descriptor in the owner; 0: in none
    std::uint64_t serial = 0;    // of the file: a number of a descriptor may be given to another one
    std::uint64_t position = 0;  // in the file
};

class SharedMemory {
  public:
    // Whole pages, all zeros, kept out of forked children; null when descriptors or memory are short.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
    // What peers have mapped stays there and reads as zeros: nothing of the memory is held. Requires: no lease.
    void free(void* memory) noexcept;
    // Where a segment lies, if it lies in one piece.
    [[nodiscard]] FilePlace find(const std::byte* base, std::size_t bytes) const noexcept;

  private:
    struct Piece {
        Segment segment;
        UniqueFd fd;
        std::uint64_t serial = 0;
    };
    mutable std::mutex mutex_;
    std::map<const std::byte*, Piece> pieces_;  // by their first byte
};

}  // namespace cinnabar::shm
