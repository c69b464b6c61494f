// SPDX-License-Identifier: BSD-3-Clause
// Reads what a folder has.
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

// One entry of an open folder, as it is now; no link is followed. not_found: it has vanished. `full_name` is for
// messages.
[[nodiscard]] Result<Entry> read_entry(int folder, const std::string& leaf, const ExtendedKinds& kinds,
                                       std::string_view full_name);

// Without extended attributes.
[[nodiscard]] Attributes attributes_of(const struct stat& status);

[[nodiscard]] Result<Attributes> attributes_of_folder(int folder, const ExtendedKinds& kinds, std::string_view name);

// Calls `each` with the names of a folder, from `cursor` (0: the beginning), until it answers false or there are none
// left. `next` is the cursor behind the name.
using EachName = std::function<bool(std::string_view leaf, std::uint64_t next)>;
[[nodiscard]] Result<void> read_names(const UniqueFd& folder, std::uint64_t cursor, std::string_view full_name,
                                      const EachName& each);

}  // namespace cinnabar::files
