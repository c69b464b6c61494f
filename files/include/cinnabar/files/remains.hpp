// SPDX-License-Identifier: BSD-3-Clause
// Remains: the part of a file that an interrupted save or fetch left: the first blocks of the file, verified on arrival
// and synced. If the same save or fetch is repeated, it continues from the remains (docs/save-service.md, "Resume").
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace cinnabar::files {

inline constexpr std::size_t remains_max = 1024;  // per staging folder

// Limits for the remains that a server keeps. Beyond them, the oldest are removed.
struct RemainsLimits {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  // total disk space
    std::chrono::seconds age = std::chrono::hours(24);                // since the interruption
};

struct Remains {
    std::string name;              // name of the complete file
    std::uint64_t bytes = 0;       // size of the complete file
    std::uint64_t kept_bytes = 0;  // how many of `bytes` are kept, from the beginning
    std::uint64_t disk_bytes = 0;
    std::uint64_t age_seconds = 0;
};

// How a new file continues from remains, and whether it leaves some. With block_bytes 0 it does neither.
struct Resumable {
    std::uint32_t block_bytes = 0;  // size of each write except the last; 0: not resumable
    bool sparse = false;            // as NewFile::set_sparse
    // Time between checkpoints, which sync the staged file and write its journal.
    std::chrono::milliseconds interval{200};
};

}  // namespace cinnabar::files
