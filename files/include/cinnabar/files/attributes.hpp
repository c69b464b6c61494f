// SPDX-License-Identifier: BSD-3-Clause
// Metadata of a file or folder: permission bits, modification time, extended attributes. Ownership is not transferred,
// because user ids of different hosts are unrelated and a client must not be able to choose the owner.
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
    std::uint32_t mode = 0;  // permission bits; set-user-id, set-group-id and sticky are dropped
    std::int64_t modified_s = 0;
    std::uint32_t modified_ns = 0;
    std::vector<ExtendedAttribute> extended;
};

// The kinds of extended attributes that can be transferred: user.* and POSIX ACLs. Other kinds never are, because they
// can grant rights that the mode does not.
struct ExtendedKinds {
    bool user = false;
    bool acls = false;
};

inline constexpr std::size_t extended_bytes_max = 64 << 10;  // limit per file, counted by extended_bytes()

// The total size of names, each including its terminating zero byte, and values.
[[nodiscard]] CINNABAR_API std::size_t extended_bytes(const std::vector<ExtendedAttribute>& extended) noexcept;

// Reads the extended attributes of an open file or folder. `name` is used in error messages. too_large: more than
// extended_bytes_max. Also the errors of file_error().
[[nodiscard]] CINNABAR_API Result<std::vector<ExtendedAttribute>> read_extended(int fd, const ExtendedKinds& kinds,
                                                                                std::string_view name);

// Sets the mode, the modification time and the extended attributes of an open file or folder. `name` is used in error
// messages.
//   permission        an extended attribute is of a kind that is not transferred, or another user owns the file
//   invalid_argument  the file system cannot store an extended attribute, or modified_ns is over 999,999,999
// Also the errors of file_error().
[[nodiscard]] CINNABAR_API Result<void> give_attributes(int fd, const Attributes& attributes, std::string_view name);

}  // namespace cinnabar::files
