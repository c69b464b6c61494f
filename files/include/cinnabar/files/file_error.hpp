// SPDX-License-Identifier: BSD-3-Clause
// What the operating system says about files, in the words of a person who saves one.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>

#include <string>
#include <string_view>

namespace cinnabar::files {

// The hint of an error that the server reported: its subject is the server's text, not a name.
inline constexpr std::string_view server_says = "the server says";

// `doing` is static storage and tells what failed when the errno itself has no better words; `name` is any bytes.
//   no_space          ENOSPC, EDQUOT, EFBIG (the file system or RLIMIT_FSIZE)
//   permission        EACCES, EPERM, EROFS; EXDEV, which openat2 gives for a path that leaves the root; ELOOP
//   invalid_argument  EISDIR; ENOTDIR (a file where a directory should be); EINVAL, EILSEQ: the file system refuses it
//   too_large         ENAMETOOLONG
//   busy              EAGAIN: another program has a lease on the file
// and what errc_from_errno says for others.
[[nodiscard]] CINNABAR_API Error file_error(int os_errno, std::string_view doing, std::string_view name);

}  // namespace cinnabar::files
