// SPDX-License-Identifier: BSD-3-Clause
// What is left of a file whose save or fetch was interrupted: its first blocks, verified when they arrived and synced,
// from which the same save goes on (docs/save-service.md, "Resume").
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace cinnabar::files {

inline constexpr std::size_t remains_max = 1024;  // in one staging folder

// What a server keeps of interrupted saves. What is over it goes, oldest first.
struct RemainsLimits {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  // on the disk
    std::chrono::seconds age = std::chrono::hours(24);                // since they were interrupted
};

struct Remains {
    std::string name;              // that the file would have
    std::uint64_t bytes = 0;       // that it would have
    std::uint64_t kept_bytes = 0;  // of those, from its beginning, are here
    std::uint64_t disk_bytes = 0;
    std::uint64_t age_seconds = 0;
};

// How a new file goes on from its remains, and leaves some. Without blocks it does neither.
struct Resumable {
    std::uint32_t block_bytes = 0;  // all writes are of this size, but the last; 0: not resumable
    bool sparse = false;            // as set_sparse
    // The staged file is synced and its journal written this long after the last time.
    std::chrono::milliseconds interval{200};
};

}  // namespace cinnabar::files
