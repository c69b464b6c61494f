// SPDX-License-Identifier: BSD-3-Clause
#include "file/beneath.hpp"

#include "file/folded_case.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cinnabar::files {

namespace {

constexpr int open_attempts_max = 128;

// glibc has no wrapper of openat2.
UniqueFd open_resolved(int directory, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.resolve = resolve;
    for (int attempt = 1;; ++attempt) {
        const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
        // EAGAIN: a component of the path was renamed during the lookup, so the kernel could not verify it. Retrying
        // helps, unless another program has a lease on the file.
        const bool passes = fd < 0 && (errno == EINTR || (errno == EAGAIN && attempt < open_attempts_max));
        if (!passes) return UniqueFd(static_cast<int>(fd));
    }
}

}  // namespace

UniqueFd open_beneath(int directory, const std::string& path, std::uint64_t flags) {
    return open_resolved(directory, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

UniqueFd open_below_without_links(int directory, const std::string& path, std::uint64_t flags) {
    return open_resolved(directory, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
}

UniqueFd open_parent_beneath(int directory, std::string_view name) {
    const std::string parent(parent_of(name));
    return open_beneath(directory, parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
}

Result<void> check_target(int parent, const std::string& leaf, std::string_view name, Existing existing) {
    struct stat status {};
    if (::fstatat(parent, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return {};
        return file_error(errno, "cannot look at the name", name);
    }
    if (S_ISDIR(status.st_mode)) return file_error(EISDIR, {}, name);
    if (existing == Existing::keep) {
        CINNABAR_TRY_VOID(check_case(parent, leaf, name));
        return file_error(EEXIST, {}, name);
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return Error{Errc::invalid_argument, "what has that name is not a file", printable(name)};
    return {};
}

}  // namespace cinnabar::files
