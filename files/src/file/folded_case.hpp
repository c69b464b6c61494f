// SPDX-License-Identifier: BSD-3-Clause
// File systems for which "a" and "A" are one name: vfat, exfat, and folders with the casefold flag (ext4, f2fs, tmpfs).
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// Whether the folder has an entry of exactly that name. Reads the whole folder, unless it finds the entry.
[[nodiscard]] Result<bool> has_exactly(int folder, const std::string& leaf, std::string_view name);

// Checks that the entry that the file system finds under `leaf` has exactly this name, so that replacing `leaf` does
// not destroy a file of another name. exists: the entry's name differs by case, or `leaf` is the short (8.3) form of
// the entry's name. ok also if there is no such entry. `name`, the whole path, is for messages. Call this only for
// names that are taken: it costs two system calls and, where case is folded, reads the folder.
[[nodiscard]] Result<void> check_case(int folder, const std::string& leaf, std::string_view name);

}  // namespace cinnabar::files
