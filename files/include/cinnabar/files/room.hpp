// SPDX-License-Identifier: BSD-3-Clause
// The room on a disk, and what a server leaves of it to others.
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

// A hundredth of the disk that `path` is on, 1 GiB at most. Nothing where the disk does not say how large it is.
[[nodiscard]] CINNABAR_API KeptFree default_kept_free(const std::string& path) noexcept;

// Of the disk that `path` is on. The most that there can be where the disk does not say how large it is.
[[nodiscard]] CINNABAR_API std::uint64_t disk_bytes(const std::string& path) noexcept;

// Whether `bytes` more, in `files` new files, fit on the disk of `fd` beside what is kept free. no_space; `name` goes
// into the error. ok where the disk does not say: writing will tell.
[[nodiscard]] CINNABAR_API Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t files,
                                                   const KeptFree& kept, std::string_view name);

}  // namespace cinnabar::files
