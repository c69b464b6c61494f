// SPDX-License-Identifier: BSD-3-Clause
// The checksum of a saved file is stored in an extended attribute, so that damage can be detected even years later. The
// file's size and modification time at that moment are stored with the checksum: if they differ now, the file was
// modified, not damaged.
#pragma once

#include <cinnabar/files/verified.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

namespace cinnabar::files {

// Prefix of the service's own attributes; clients can neither read nor write them, whatever kinds they request.
inline constexpr std::string_view own_attributes = "user.cinnabar.";

// Stores the checksum. Call it after the final modification time was set. False, with errno: the file system cannot
// store it.
bool store_checksum(int fd, std::uint64_t checksum) noexcept;
[[nodiscard]] StoredChecksum read_stored_checksum(int fd) noexcept;

}  // namespace cinnabar::files
