// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/stat.h>
#include <unistd.h>

namespace cinnabar::files {

// Whether the open file is a regular file of this user without other hard links; sets `status`. The folder of a fetch
// may be writable for other users, who may have planted files.
[[nodiscard]] inline bool is_own_file(int fd, struct stat& status) noexcept {
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

}  // namespace cinnabar::files
