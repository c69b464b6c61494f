// SPDX-License-Identifier: BSD-3-Clause
// Temporary names of staged files, links and folders, and the rename that gives an entry its final name.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/new_file.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// make_staged_name() returns a temporary name that nobody can guess: ".cinnabar-0123456789abcdef.part". If the name
// exists nevertheless, the caller tries another name, up to staged_attempts_max times.
inline constexpr int staged_attempts_max = 16;
[[nodiscard]] std::string make_staged_name();
[[nodiscard]] bool is_staged_name(std::string_view leaf) noexcept;

// The destination of a rename. `parent` is the folder as it was opened, perhaps long ago.
struct Target {
    int root = -1;
    int parent = -1;
    const std::string& leaf;
    std::string_view name;  // the whole path below the root
    Existing existing = Existing::keep;
};

// Checks that `name` still refers to an entry of `parent` and may be created or replaced. not_found: the folder was
// moved or removed. exists, invalid_argument: as check_target().
[[nodiscard]] Result<void> check_destination(const Target& target);

// Whether an error of link(), symlink() and the like means that the file system has no entries of that kind.
[[nodiscard]] bool lacks_kind(int os_errno) noexcept;

// Renames the staged entry into place; does not sync. exists: the name was taken meanwhile, and Existing::keep was
// given. Also the errors of check_case().
[[nodiscard]] Result<void> give_name(int staging, const std::string& staged, const Target& target);
[[nodiscard]] Result<void> sync_folder(int folder, std::string_view name);

}  // namespace cinnabar::files
