// SPDX-License-Identifier: BSD-3-Clause
// File systems for which "a" and "A" are one name: vfat, exfat, and folders that are made so (ext4, f2fs, tmpfs).
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// Whether the folder has an entry of exactly that name. Reads the whole folder, unless it finds the entry.
[[nodiscard]] Result<bool> has_exactly(int folder, const std::string& leaf, std::string_view name);

// exists: the file system takes `leaf` for an entry of the folder whose name differs by case, or whose short form of
// eight and three letters it is. Whoever replaced that would lose a file of another name. ok also if nothing has the
// name. `name`, the whole path, is for messages. Call it for names that are taken: it costs two system calls, and where
// case is folded a look at the folder.
[[nodiscard]] Result<void> check_case(int folder, const std::string& leaf, std::string_view name);

}  // namespace cinnabar::files
