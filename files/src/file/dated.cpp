// SPDX-License-Identifier: BSD-3-Clause
#include "file/dated.hpp"

#include <poll.h>
#include <sys/vfs.h>
#include <time.h>

#include <cstdint>

namespace cinnabar::files {
namespace {

// Lists file systems by number, because the kernel's headers do not name all of them.
constexpr bool is_known_to_date(std::uint32_t file_system) noexcept {
    switch (file_system) {
        case 0xef53:      // ext4, and ext2 and ext3, whose whole seconds are recognised
        case 0x58465342:  // xfs
        case 0x9123683e:  // btrfs
        case 0xf2f52010:  // f2fs
        case 0x01021994:  // tmpfs
            return true;
        default:
            return false;
    }
}

}  // namespace

FileStamp stamp_of(const struct stat& status) noexcept {
    return {status.st_dev,         status.st_ino,          static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
            status.st_ctim.tv_nsec};
}

ChangeTime change_clock() noexcept {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return {now.tv_sec, now.tv_nsec};
}

ChangeTime changed_at(const FileStamp& stamp) noexcept { return {stamp.changed_s, stamp.changed_ns}; }

// A time without a fraction of a second shows, except by a rare coincidence, a file system that counts whole seconds.
bool dates_changes(int fd, const FileStamp& stamp) noexcept {
    struct statfs system {};
    return stamp.changed_ns != 0 && ::fstatfs(fd, &system) == 0 &&
           is_known_to_date(static_cast<std::uint32_t>(system.f_type));
}

// Reads the clock before it takes the stamp: a change after the stamp was taken then has the time `now` or a later one.
std::optional<FileStamp> final_stamp(int fd) noexcept {
    constexpr int looks_max = 50;
    for (int look = 0; look < looks_max; ++look) {
        const auto now = change_clock();
        struct stat status {};
        if (::fstat(fd, &status) != 0) return std::nullopt;
        const FileStamp stamp = stamp_of(status);
        if (!dates_changes(fd, stamp)) return std::nullopt;
        if (changed_at(stamp) < now) return stamp;
        (void)::poll(nullptr, 0, 1);  // ms
    }
    return std::nullopt;
}

}  // namespace cinnabar::files
