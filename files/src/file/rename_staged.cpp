// SPDX-License-Identifier: BSD-3-Clause
#include "file/rename_staged.hpp"

#include "file/beneath.hpp"
#include "file/folded_case.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/files/file_error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace cinnabar::files {

std::string make_staged_name() {
    std::array<char, 48> name{};
    (void)std::snprintf(name.data(), name.size(), ".cinnabar-%016llx.part",
                        static_cast<unsigned long long>(secret_u64()));
    return name.data();
}

bool is_staged_name(std::string_view leaf) noexcept {
    return leaf.starts_with(".cinnabar-") && leaf.ends_with(".part");
}

// The folder was opened when the file was created, perhaps long ago. Since then others may have moved it out of the
// root, or put something that is not a file under the name. No system call checks and renames atomically, so for a
// short time after this check others still can.
Result<void> check_destination(const Target& target) {
    const Error moved{Errc::not_found, "its directory was moved or removed while the file was under way",
                      printable(target.name)};
    const auto now = open_parent_beneath(target.root, target.name);
    if (!now && (errno == ENOENT || errno == ENOTDIR)) return moved;
    if (!now) return file_error(errno, "cannot open its directory", target.name);
    struct stat then_status {};
    struct stat now_status {};
    if (::fstat(target.parent, &then_status) != 0 || ::fstat(now.get(), &now_status) != 0)
        return file_error(errno, "cannot look at its directory", target.name);
    if (then_status.st_dev != now_status.st_dev || then_status.st_ino != now_status.st_ino) return moved;
    return check_target(target.parent, target.leaf, target.name, target.existing);
}

bool lacks_kind(int os_errno) noexcept { return os_errno == EPERM || os_errno == ENOTSUP || os_errno == ENOSYS; }

Result<void> give_name(int staging, const std::string& staged, const Target& target) {
    const char* const leaf = target.leaf.c_str();
    if (::renameat2(staging, staged.c_str(), target.parent, leaf, RENAME_NOREPLACE) == 0) return {};
    const int why = errno;
    // Two files whose names differ only by case may be in progress at once, so only the rename shows that the file
    // system takes both names for one.
    if (why == EEXIST) CINNABAR_TRY_VOID(check_case(target.parent, target.leaf, target.name));
    const bool unable = why == EINVAL || why == ENOSYS;  // the file system does not support RENAME_NOREPLACE (NFS)
    if (target.existing == Existing::replace && (why == EEXIST || unable)) {
        if (::renameat(staging, staged.c_str(), target.parent, leaf) == 0) return {};
        return file_error(errno, "cannot rename the file into place", target.name);
    }
    if (target.existing == Existing::keep && unable) {
        // link() does not replace an existing name either.
        if (::linkat(staging, staged.c_str(), target.parent, leaf, 0) == 0) {
            (void)::unlinkat(staging, staged.c_str(), 0);
            return {};
        }
        // Neither way of keeping a file that appears meanwhile, or, as on vfat, none of giving this name.
        if (why == EINVAL && lacks_kind(errno))
            return Error{Errc::invalid_argument,
                         "the file system does not take that name, or not without replacing: give it another name, or "
                         "--replace",
                         printable(target.name), why};
        return file_error(errno, "cannot rename the file into place", target.name);
    }
    return file_error(why, "cannot rename the file into place", target.name);
}

Result<void> sync_folder(int folder, std::string_view name) {
    // Some file systems cannot sync a directory and return EINVAL; they write metadata synchronously.
    if (::fsync(folder) == 0 || errno == EINVAL) return {};
    return file_error(errno, "the file has its name, but the directory could not be synced", name);
}

}  // namespace cinnabar::files
