// SPDX-License-Identifier: BSD-3-Clause
// Turns errno values of file operations into Errors with messages for the user.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// The hint of an error that the server reported. The subject of such an error is the server's text, not a file name.
inline constexpr std::string_view server_says = "the server says";

// Converts an errno value to an Error. `doing` says what failed, for errno values without a message of their own; it
// must have static storage duration. `name` may be any bytes.
//   no_space          ENOSPC, EDQUOT, EFBIG (the file system or RLIMIT_FSIZE)
//   permission        EACCES, EPERM, EROFS; EXDEV (openat2: the path leaves the root); ELOOP
//   invalid_argument  EISDIR; ENOTDIR (a file where a directory should be); EINVAL, EILSEQ (refused name)
//   too_large         ENAMETOOLONG
//   exists            EEXIST
//   busy              EAGAIN: another program has a lease on the file
// Other values: the result of errc_from_errno().
[[nodiscard]] CINNABAR_API Error file_error(int os_errno, std::string_view doing, std::string_view name);

}  // namespace cinnabar::files
