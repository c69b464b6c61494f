// SPDX-License-Identifier: BSD-3-Clause
// Reads what a folder has.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/entry.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cinnabar::files {

// One entry of an open folder, as it is now; no link is followed. not_found: it has vanished. `full_name` is for
// messages.
[[nodiscard]] Result<Entry> read_entry(int folder, const std::string& leaf, const ExtendedKinds& kinds,
                                       std::string_view full_name);

[[nodiscard]] Result<Attributes> attributes_of_folder(int folder, const ExtendedKinds& kinds, std::string_view name);

// Calls `each` with the names of a folder, from `cursor` (0: the beginning), until it answers false or there are none
// left. Gives the cursor behind the last name that was taken; 0: that was all.
using EachName = std::function<bool(std::string_view leaf, std::uint64_t next)>;
[[nodiscard]] Result<void> read_names(const UniqueFd& folder, std::uint64_t cursor, std::string_view full_name,
                                      const EachName& each);

}  // namespace cinnabar::files
