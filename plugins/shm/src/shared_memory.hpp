// SPDX-License-Identifier: BSD-3-Clause
// Memory that the library allocates for its users (na::Transport::allocate_memory). Each allocation is an anonymous
// file that peers can map; they then copy its bytes with memcpy, or read them in place. Any thread.
#pragma once

#include "segment.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace cinnabar::shm {

// Where bytes are in the anonymous file of an allocation, in the form in which peers map them.
struct FilePosition {
    std::uint32_t file = 0;      // the owner's descriptor + 1; 0: not in a file
    std::uint64_t serial = 0;    // identifies the file, because a descriptor's number may be reused
    std::uint64_t position = 0;  // offset in the file
};

class SharedMemory {
  public:
    // Allocates whole pages, all zeros, not inherited by forked children. Null: out of descriptors or memory.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
    // Frees the pages. Peers that still map the file then see zeros. Requires: no lease.
    void free(void* memory) noexcept;
    // The position of a segment, if it lies within one allocation.
    [[nodiscard]] FilePosition find(const std::byte* base, std::size_t bytes) const noexcept;

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
