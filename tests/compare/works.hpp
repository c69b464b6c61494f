// SPDX-License-Identifier: BSD-3-Clause
// The works that are compared, with their contenders.
#pragma once

#include "contender.hpp"

#include <cstdint>
#include <vector>

namespace cinnabar::compare {

// The files that the works about files move, below @FROM@.
inline constexpr const char* file_name = "file";
inline constexpr const char* folder_name = "folder";
inline constexpr std::uint64_t file_bytes = 256 << 20;
inline constexpr std::uint64_t folder_files = 2000;
inline constexpr std::uint64_t folder_file_bytes = 4096;

[[nodiscard]] std::vector<Work> all_works();

}  // namespace cinnabar::compare
