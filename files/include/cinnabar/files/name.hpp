// SPDX-License-Identifier: BSD-3-Clause
// Names of saved files: paths below the root of a server, as bytes. They come from the network, so nothing here trusts
// them; what the file system may still do with a well-formed name (links, mounts) is the business of Root. Pure.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/utf8.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::files {

inline constexpr std::size_t name_bytes_max = 4095;      // PATH_MAX without its zero byte
inline constexpr std::size_t component_bytes_max = 255;  // NAME_MAX of every common file system

// Where a server keeps unfinished files, directly below its root; no name may lead there.
inline constexpr std::string_view staging_folder = ".cinnabar-staging";

// Any bytes but '/' and zero make a component: names need not be UTF-8, as files of real machines are not always.
//   permission        it leaves the root (`..`, a leading '/') or enters the staging folder
//   invalid_argument  empty, with an empty or a `.` component, or with a zero byte
//   too_large         over name_bytes_max, or a component over component_bytes_max
[[nodiscard]] CINNABAR_API Result<void> check_name(std::string_view name);

// The last component: what a file is called. Empty when the path ends in '/'.
[[nodiscard]] CINNABAR_API std::string_view leaf_of(std::string_view path) noexcept;
// What stands before the last '/'; empty when there is none.
[[nodiscard]] CINNABAR_API std::string_view parent_of(std::string_view path) noexcept;

// For people and logs: control characters and bytes that are not UTF-8 become \xNN, a backslash becomes two.
[[nodiscard]] CINNABAR_API std::string printable(std::string_view name);

using cinnabar::utf8_sequence_bytes;

}  // namespace cinnabar::files
