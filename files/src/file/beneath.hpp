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

// Opens what `path` names below `directory`. Empty, with errno: EXDEV when it leads out, EAGAIN when another program
// has a lease on it.
[[nodiscard]] UniqueFd open_beneath(int directory, const std::string& path, std::uint64_t flags);

// The same, over no link at all: EXDEV or ELOOP. `path` may lead over any number of folders.
[[nodiscard]] UniqueFd open_below_without_links(int directory, const std::string& path, std::uint64_t flags);

// The directory that `name` is to be in. Empty, with errno.
[[nodiscard]] UniqueFd open_parent_beneath(int directory, std::string_view name);

// ok: a new file may take the name: it is free, or a file or link has it that may be replaced. exists: something has
// the name, and `existing` is keep. invalid_argument: a directory has it, or something else that is neither a file nor
// a link. Otherwise an error of file_error.
[[nodiscard]] Result<void> check_target(int parent, const std::string& leaf, std::string_view name, Existing existing);

}  // namespace cinnabar::files
