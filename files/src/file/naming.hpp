// SPDX-License-Identifier: BSD-3-Clause
// The step in which something staged gets its name.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/new_file.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// A name for something staged that nobody can guess: ".cinnabar-0123456789abcdef.part". Where it exists all the same,
// another one is tried, this many in all.
inline constexpr int staged_attempts_max = 16;
[[nodiscard]] std::string make_staged_name();
[[nodiscard]] bool is_staged_name(std::string_view leaf) noexcept;

// Where something is to appear: `parent` is the folder as it was opened, perhaps long ago.
struct Target {
    int root = -1;
    int parent = -1;
    const std::string& leaf;
    std::string_view name;  // of all of it, below the root
    Existing existing = Existing::keep;
};

// ok: `name` still leads to `parent`, and something new may take the name. not_found: the folder was moved or removed.
// exists, invalid_argument: as check_target.
[[nodiscard]] Result<void> check_place(const Target& target);

// Renames what is staged into place, and syncs the folder. exists: something took the name, and it is to be kept.
[[nodiscard]] Result<void> give_name(int staging, const std::string& staged, const Target& target);
[[nodiscard]] Result<void> sync_folder(int folder, std::string_view name);

}  // namespace cinnabar::files
