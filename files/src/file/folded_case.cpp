// SPDX-License-Identifier: BSD-3-Clause
#include "file/folded_case.hpp"

#include "file/read_entries.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/file_error.hpp>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>

namespace cinnabar::files {
namespace {

// vfat and exfat do not report flags, so they are recognised by their type.
bool folds_case(int folder) noexcept {
    int flags = 0;
    if (::ioctl(folder, FS_IOC_GETFLAGS, &flags) == 0) return (flags & FS_CASEFOLD_FL) != 0;
    struct statfs system {};
    if (::fstatfs(folder, &system) != 0) return false;
    return system.f_type == MSDOS_SUPER_MAGIC || system.f_type == EXFAT_SUPER_MAGIC;
}

}  // namespace

Result<bool> has_exactly(int folder, const std::string& leaf, std::string_view name) {
    const UniqueFd opened(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return file_error(errno, "cannot open the folder", name);
    bool found = false;
    CINNABAR_TRY_VOID(read_names(opened, 0, name, [&](std::string_view entry, std::uint64_t) {
        found = entry == leaf;
        return !found;
    }));
    return found;
}

Result<void> check_case(int folder, const std::string& leaf, std::string_view name) {
    if (!folds_case(folder)) return {};
    struct stat status {};
    if (::fstatat(folder, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    CINNABAR_TRY(const bool exactly, has_exactly(folder, leaf, name));
    if (exactly) return {};
    return Error{
        Errc::exists,
        "the file system takes it for another name, which differs by case only or is the long form of it: give "
        "it another name",
        printable(name)};
}

}  // namespace cinnabar::files
