// SPDX-License-Identifier: BSD-3-Clause
// What a file or folder has besides its content. Owners are not kept: those of two hosts have little to do with each
// other, and a stranger chooses none here.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

struct ExtendedAttribute {
    std::string name;  // "user.comment"
    std::string value;
};

struct Attributes {
    std::uint32_t mode = 0;  // permission bits; those for set-user-id, set-group-id and sticky are not kept
    std::int64_t modified_s = 0;
    std::uint32_t modified_ns = 0;
    std::vector<ExtendedAttribute> extended;
};

// Which extended attributes are kept. Only those that give no rights beyond the mode's: user.*, and POSIX ACLs.
struct ExtendedKinds {
    bool user = false;
    bool acls = false;
};

inline constexpr std::size_t extended_bytes_max = 64 << 10;  // of one file, as extended_bytes counts

// Names, each with a zero byte as the operating system counts, and values.
[[nodiscard]] CINNABAR_API std::size_t extended_bytes(const std::vector<ExtendedAttribute>& extended) noexcept;

// Of an open file or folder, without its mode and time. too_large: over extended_bytes_max; those of file_error.
[[nodiscard]] CINNABAR_API Result<std::vector<ExtendedAttribute>> read_extended(int fd, const ExtendedKinds& kinds,
                                                                                std::string_view name);

// Gives them all. permission: an extended attribute that is not kept here, or a file of somebody else.
// invalid_argument: the file system cannot hold one, or a time that is none.
[[nodiscard]] CINNABAR_API Result<void> give_attributes(int fd, const Attributes& attributes, std::string_view name);

}  // namespace cinnabar::files
