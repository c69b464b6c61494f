// SPDX-License-Identifier: BSD-3-Clause
// Names on vfat and exfat. These file systems allow fewer names than others, and silently cut off dots at the end of a
// name.
#pragma once

#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <string_view>

namespace cinnabar::files {

enum class NameRules : std::uint8_t { any, exfat, vfat };

// Returns the rules of the file system that has the open file or folder; `any` also if the kernel does not tell.
[[nodiscard]] NameRules name_rules_of(int fd) noexcept;

// invalid_argument: a file system with these rules cannot hold `leaf`. `name`, the whole path, is for messages.
[[nodiscard]] Result<void> check_held(NameRules rules, std::string_view leaf, std::string_view name);

}  // namespace cinnabar::files
