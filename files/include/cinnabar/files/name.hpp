// SPDX-License-Identifier: BSD-3-Clause
// Names of saved files: paths relative to the root of a server, as bytes. They come from the network and are untrusted.
// This file checks their form only; Root deals with symbolic links and mounts. Pure functions.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::files {

inline constexpr std::size_t name_bytes_max = 4095;      // PATH_MAX without its zero byte
inline constexpr std::size_t component_bytes_max = 255;  // NAME_MAX of every common file system

// The staging folder, directly below the root, where a server keeps unfinished files; no name may refer to it.
inline constexpr std::string_view staging_folder = ".cinnabar-staging";

// Checks the form of a name. A component may have any bytes except '/' and zero; it need not be UTF-8, because names on
// real machines are not always UTF-8.
//   permission        the name leaves the root (`..`, a leading '/') or enters the staging folder
//   invalid_argument  the name is empty, has an empty or a `.` component, or contains a zero byte
//   too_large         the name is over name_bytes_max bytes long, or a component over component_bytes_max
[[nodiscard]] CINNABAR_API Result<void> check_name(std::string_view name);

// Whether `leaf`, the last component of a name, is the name of a file that a fetch has not finished
// (".cinnabar-0123456789abcdef.part"), or of such a file's journal (".cinnabar-0123456789abcdef.journal"). Only fetches
// may touch such files.
[[nodiscard]] CINNABAR_API bool is_unfinished_name(std::string_view leaf) noexcept;

// The last component of the path; empty if the path ends in '/'.
[[nodiscard]] CINNABAR_API std::string_view leaf_of(std::string_view path) noexcept;
// The path without its last component; empty if it has no '/'.
[[nodiscard]] CINNABAR_API std::string_view parent_of(std::string_view path) noexcept;

}  // namespace cinnabar::files
