// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/stat.h>
#include <unistd.h>

namespace cinnabar::files {

// Whether the open file is a regular file of this user without other hard links; sets `status`. Used because other
// users may be able to write to the folder of a fetch, and may have planted files there.
[[nodiscard]] inline bool is_own_file(int fd, struct stat& status) noexcept {
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

}  // namespace cinnabar::files
