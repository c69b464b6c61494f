// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/room.hpp>

#include <sys/statvfs.h>

#include <algorithm>
#include <limits>

namespace cinnabar::files {
namespace {

__extension__ using Wide = unsigned __int128;

Error no_room(const char* why, std::string_view name) { return {Errc::no_space, why, printable(name)}; }

}  // namespace

KeptFree default_kept_free(const std::string& path) noexcept {
    constexpr Wide most = 1u << 30;
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) != 0) return {};
    const Wide bytes = static_cast<Wide>(status.f_blocks) * status.f_frsize;
    return {static_cast<std::uint64_t>(std::min(bytes / 100, most)), status.f_files / 100};
}

std::uint64_t disk_bytes(const std::string& path) noexcept {
    constexpr Wide most = std::numeric_limits<std::uint64_t>::max();
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) != 0 || status.f_blocks == 0) return static_cast<std::uint64_t>(most);
    return static_cast<std::uint64_t>(std::min(static_cast<Wide>(status.f_blocks) * status.f_frsize, most));
}

Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t files, const KeptFree& kept, std::string_view name) {
    struct statvfs status {};
    if (::fstatvfs(fd, &status) != 0 || status.f_blocks == 0) return {};
    const Wide room = static_cast<Wide>(status.f_bavail) * status.f_frsize;
    if (bytes > room) return no_room("the disk has no room for a file of that size", name);
    if (kept.bytes != 0 && static_cast<Wide>(bytes) + kept.bytes > room)
        return no_room("what is left of the disk is kept free (on a server: serve --keep-free)", name);
    // Some file systems have no fixed number of inodes and report 0.
    if (kept.files != 0 && files != 0 && status.f_files != 0 && static_cast<Wide>(files) + kept.files > status.f_favail)
        return no_room("the server keeps the inodes that are left on its disk free (serve --keep-files)", name);
    return {};
}

}  // namespace cinnabar::files
