// SPDX-License-Identifier: BSD-3-Clause
// Free disk space, and the part of it that a server leaves to others.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::files {

struct KeptFree {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;  // inodes
};

// 1 % of the bytes (at most 1 GiB) and 1 % of the inodes of the disk that `path` is on; 0 if its size is unknown.
[[nodiscard]] CINNABAR_API KeptFree default_kept_free(const std::string& path) noexcept;

// The size of the disk that `path` is on; the largest value if the size is unknown.
[[nodiscard]] CINNABAR_API std::uint64_t disk_bytes(const std::string& path) noexcept;

// Checks that the disk of `fd` has room for `bytes` bytes in `files` new files, in addition to the space that is to be
// kept free. no_space: there is not enough room; `name` is the error's subject. ok if the free space is unknown: a
// later write may still fail.
[[nodiscard]] CINNABAR_API Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t files,
                                                   const KeptFree& kept, std::string_view name);

}  // namespace cinnabar::files
