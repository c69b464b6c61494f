// SPDX-License-Identifier: BSD-3-Clause
// Detects changes of a file by the time of its last change (ctime): which file systems date every change, and when a
// stamp is old enough for every later change to have a later time.
#pragma once

#include <cinnabar/files/file_stamp.hpp>

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <optional>

namespace cinnabar::files {

[[nodiscard]] FileStamp stamp_of(const struct stat& status) noexcept;

// The clock that the kernel dates changes with. It advances every few milliseconds, so several changes may have the
// same time. A stamp is final only if the clock was already past the time of the last change when the stamp was taken.
struct ChangeTime {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    friend auto operator<=>(const ChangeTime&, const ChangeTime&) = default;
};
[[nodiscard]] ChangeTime change_clock() noexcept;
[[nodiscard]] ChangeTime changed_at(const FileStamp& stamp) noexcept;

// Whether the file system of the open file dates every write(2), by the clock of this host and in steps far below a
// second. False for file systems that are not known to do so, such as those of a network.
[[nodiscard]] bool dates_changes(int fd, const FileStamp& stamp) noexcept;

// Returns a stamp that every later change of the file will alter; waits up to 50 ms until the file has such a stamp.
// Requires: nobody writes to the file any more. Empty: changes of this file cannot be detected.
[[nodiscard]] std::optional<FileStamp> final_stamp(int fd) noexcept;

}  // namespace cinnabar::files
