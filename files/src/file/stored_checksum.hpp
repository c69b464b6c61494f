// SPDX-License-Identifier: BSD-3-Clause
// The checksum that a file was saved with, kept in an extended attribute of it, so that it is there after a restart and
// damage is found years later. With it are size and time of modification of then: a file that somebody wrote to since
// has another checksum, and is not damaged.
#pragma once

#include <cinnabar/files/verified.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

namespace cinnabar::files {

// Clients neither read nor write the attributes that begin so, whatever kinds they ask for.
inline constexpr std::string_view own_attributes = "user.cinnabar.";

// Once it has the time of modification that it will keep. False, with errno: the file system cannot.
bool store_checksum(int fd, std::uint64_t checksum) noexcept;
[[nodiscard]] StoredChecksum read_stored_checksum(int fd) noexcept;

}  // namespace cinnabar::files
