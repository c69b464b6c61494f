// SPDX-License-Identifier: BSD-3-Clause
// Paths below a directory, as the kernel resolves them at this moment.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/new_file.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::files {

// Opens `path` below `directory`. On failure, returns an empty descriptor and sets errno: EXDEV: the path leads out of
// the directory; EAGAIN: another program has a lease on the file.
[[nodiscard]] UniqueFd open_beneath(int directory, const std::string& path, std::uint64_t flags);

// As open_beneath(), but follows no symbolic link in any component of `path`: ELOOP.
[[nodiscard]] UniqueFd open_below_without_links(int directory, const std::string& path, std::uint64_t flags);

// Opens the directory that contains, or will contain, `name`. Empty, with errno.
[[nodiscard]] UniqueFd open_parent_beneath(int directory, std::string_view name);

// Checks that a new file may take the name. ok: the name is free, or belongs to a file or link that may be replaced.
// exists: the name is taken, and `existing` is keep. invalid_argument: the name belongs to a directory, or to something
// else that is neither a file nor a link. Otherwise an error of file_error.
[[nodiscard]] Result<void> check_target(int parent, const std::string& leaf, std::string_view name, Existing existing);

}  // namespace cinnabar::files
