// SPDX-License-Identifier: BSD-3-Clause
// Reads folders and their entries.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/entry.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cinnabar::files {

// Reads one entry of an open folder; a symbolic link is not followed. `full_name` is used in error messages. not_found:
// the entry was removed.
[[nodiscard]] Result<Entry> read_entry(int folder, const std::string& leaf, const ExtendedKinds& kinds,
                                       std::string_view full_name);

// Mode and modification time; no extended attributes.
[[nodiscard]] Attributes attributes_of(const struct stat& status);

[[nodiscard]] Result<Attributes> attributes_of_folder(int folder, const ExtendedKinds& kinds, std::string_view name);

// Calls `each` with each name in a folder, starting at `cursor` (0: the beginning), until `each` returns false or the
// folder ends. `next` is the cursor for the position after that name.
using EachName = std::function<bool(std::string_view leaf, std::uint64_t next)>;
[[nodiscard]] Result<void> read_names(const UniqueFd& folder, std::uint64_t cursor, std::string_view full_name,
                                      const EachName& each);

}  // namespace cinnabar::files
